package io.batchweave.demo;

import java.util.List;

/**
 * Closes things, in the given order, when this process is told to stop (SIGINT, SIGTERM) before it
 * has come to its end: a demo that is broken off leaves no process and no file behind.
 */
public final class StopOnSignal implements AutoCloseable {
  private final List<AutoCloseable> parts;
  private final Thread hook;

  /**
   * Watches from now on.
   *
   * @param parts what to close; they must bear being closed by another thread, and twice
   */
  public StopOnSignal(AutoCloseable... parts) {
    this.parts = List.of(parts);
    this.hook = Thread.ofPlatform().name("batchweave-stop").unstarted(this::closeParts);
    Runtime.getRuntime().addShutdownHook(hook);
  }

  private void closeParts() {
    for (AutoCloseable part : parts) {
      try {
        part.close();
      } catch (Exception e) {
        System.err.println("batchweave: while stopping: " + e);
      }
    }
  }

  /** Watches no more. */
  @Override
  public void close() {
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException shuttingDown) {
      // The hook runs already and closes everything.
    }
  }
}
