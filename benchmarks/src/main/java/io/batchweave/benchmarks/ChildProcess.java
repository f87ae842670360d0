package io.batchweave.benchmarks;

import java.io.IOException;

/** Processes that do not outlive this one, nor do those that they started. */
final class ChildProcess {
  private ChildProcess() {}

  /**
   * Starts one.
   *
   * @param builder what
   */
  static Process start(ProcessBuilder builder) throws IOException {
    Process process = builder.start();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> end(process)));
    return process;
  }

  /**
   * Asks it and all below it to end. Not by force: what watches over files in shared memory for a
   * Python program is one of them, ignores this, and deletes them when the others are gone.
   */
  static void end(Process process) {
    process.descendants().forEach(ProcessHandle::destroy);
    process.destroy();
  }
}
