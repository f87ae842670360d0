package io.batchweave.bridge.daemon;

import io.batchweave.BatchWeaveException;
import java.util.concurrent.TimeUnit;

/** Runs a daemon until it is told to stop: what {@code batchweave serve} does. */
public final class DaemonMain {
  /** Exit code: stopped in good order. */
  public static final int OK = 0;

  /** Exit code: ended by itself. */
  public static final int FAILED = 1;

  /** How long ranks that are stopped too may take until what is left for them goes as well. */
  private static final long DESERTION_NS = TimeUnit.SECONDS.toNanos(2);

  private DaemonMain() {}

  /**
   * Launches, prints one line when ready (after one for each thing that this machine lacks), and
   * returns when the daemon has ended. SIGTERM and SIGINT stop it in good order; what ranks still
   * read then is left to the next daemon, and removed if they end within two seconds.
   *
   * @param context settings; its lines are where messages go
   * @return the exit code
   * @throws BatchWeaveException if it cannot start, in one line: another daemon is here, memory is
   *     short, a setting is wrong, or a stream is and the context says to fail
   */
  public static int run(DaemonContext context) {
    Daemon daemon = Daemon.launch(context);
    Runtime.getRuntime()
        .addShutdownHook(
            Thread.ofPlatform()
                .name("batchweave-stop")
                .unstarted(() -> {
                  daemon.close();
                  daemon.awaitDesertion(DESERTION_NS);
                }));
    context.memory().notices().forEach(context.lines());
    context
        .lines()
        .accept(
            "serving: dir="
                + daemon.directory()
                + " streams="
                + String.join(",", context.streams())
                + " memory="
                + context.memoryBytes()
                + " rings="
                + context.rings()
                + " metrics="
                + daemon.metricsUrl());
    try {
      daemon.awaitEnd();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    daemon.close();
    if (daemon.failure() instanceof BatchWeaveException known) {
      throw known;
    }
    return daemon.failure() == null ? OK : FAILED;
  }
}
