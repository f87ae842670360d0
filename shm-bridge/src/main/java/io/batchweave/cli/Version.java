package io.batchweave.cli;

import picocli.CommandLine.IVersionProvider;

/** What {@code --version} prints: ours, and what it runs on. */
final class Version implements IVersionProvider {
  @Override
  public String[] getVersion() {
    String own = Version.class.getPackage().getImplementationVersion();
    return new String[] {
      "BatchWeave " + (own == null ? "0.1.0-SNAPSHOT" : own),
      "JVM " + System.getProperty("java.vm.version") + ", " + System.getProperty("os.arch")
    };
  }
}
