package io.batchweave.benchmarks;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The Python environment with the loaders of others: on top of the tests' environment, so that
 * torch is not there twice, under a name that hashes what is in it, made when it is first needed.
 * The build and the tests never do.
 */
final class PeersEnvironment {
  private static final String REQUIREMENTS = "benchmarks/requirements-peers.txt";
  private static final int NAME_DIGITS = 16;

  private PeersEnvironment() {}

  /**
   * The environment; makes it once.
   *
   * @throws IOException if it cannot be made; the message says why
   */
  static PythonEnvironment make(BenchRun run) throws IOException, InterruptedException {
    PythonEnvironment base = PythonEnvironment.find();
    Path requirements = PythonEnvironment.root().resolve(REQUIREMENTS);
    Path place =
        PythonEnvironment.cache()
            .resolve("peers-" + name(Files.readString(requirements), base.python()));
    PythonEnvironment made = new PythonEnvironment(place.resolve("bin/python"));
    Path complete = place.resolve("complete");
    Path lock = place.resolveSibling(place.getFileName() + ".lock");
    Files.createDirectories(PythonEnvironment.cache());
    try (FileChannel channel =
            FileChannel.open(lock, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        FileLock _ = channel.lock()) {
      if (!Files.exists(complete)) {
        install(run, base, made, place, requirements);
        Files.createFile(complete);
      }
    }
    return made;
  }

  /** What tells environments apart: what is wanted, and of which interpreter. */
  static String name(String requirements, Path python) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      digest.update(requirements.getBytes(StandardCharsets.UTF_8));
      digest.update((byte) 0);
      digest.update(python.toString().getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest.digest()).substring(0, NAME_DIGITS);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  private static void install(
      BenchRun run, PythonEnvironment base, PythonEnvironment made, Path place, Path requirements)
      throws IOException, InterruptedException {
    long beganNs = System.nanoTime();
    run.say("  making the environment of the other loaders, once: " + place);
    DirectoryTree.delete(place);
    PythonEnvironment.lines(
        new ProcessBuilder(base.python().toString(), "-m", "venv", place.toString()));
    layer(base, made);
    run.say("  installing " + REQUIREMENTS + " (1 GB on the disk; a minute or two)");
    try {
      PythonEnvironment.lines(
          new ProcessBuilder(
              made.python().toString(),
              "-m",
              "pip",
              "install",
              "--quiet",
              "--no-deps",
              "--disable-pip-version-check",
              "-r",
              requirements.toString()));
    } catch (IOException e) {
      throw new IOException(
          "the loaders of others could not be installed; is the package registry reached from"
              + " here? "
              + e.getMessage(),
          e);
    }
    run.say(
        "  made in %d s".formatted(TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - beganNs)));
  }

  /** What is installed below can be imported above; what is installed above comes first. */
  private static void layer(PythonEnvironment base, PythonEnvironment made)
      throws IOException, InterruptedException {
    Files.writeString(sitePackages(made).resolve("below.pth"), sitePackages(base) + "\n");
  }

  private static Path sitePackages(PythonEnvironment environment)
      throws IOException, InterruptedException {
    List<String> told =
        PythonEnvironment.lines(
            new ProcessBuilder(
                environment.python().toString(),
                "-c",
                "import sysconfig; print(sysconfig.get_paths()['purelib'])"));
    return Path.of(told.getLast());
  }
}
