package io.batchweave.benchmarks;

import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** The compiler of this JVM, which takes processor time from whoever is measured while it works. */
public final class JitCompiler {
  private static final long TIMEOUT_NS = TimeUnit.SECONDS.toNanos(30);
  private static final long LOOK_NS = TimeUnit.SECONDS.toNanos(1);
  private static final long BUSY_MILLIS = 20;

  private JitCompiler() {}

  /** Waits until it has had next to nothing to do for a second, but not for ever. */
  public static void awaitRest() {
    CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();
    long deadlineNs = System.nanoTime() + TIMEOUT_NS;
    long before;
    do {
      before = compiler.getTotalCompilationTime();
      LockSupport.parkNanos(LOOK_NS);
    } while (compiler.getTotalCompilationTime() - before > BUSY_MILLIS
        && System.nanoTime() - deadlineNs < 0);
  }
}
