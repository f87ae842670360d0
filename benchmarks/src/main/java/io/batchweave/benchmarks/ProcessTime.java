package io.batchweave.benchmarks;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** Processor time of this process, native threads included, to the nanosecond. */
public final class ProcessTime {
  private static final int CLOCK_PROCESS_CPUTIME_ID = 2;
  private static final MethodHandle CLOCK_GETTIME = link();

  private ProcessTime() {}

  // Restricted: a function of the C library that writes sixteen bytes.
  @SuppressWarnings("restricted")
  private static MethodHandle link() {
    Linker linker = Linker.nativeLinker();
    return linker.downcallHandle(
        linker.defaultLookup().find("clock_gettime").orElseThrow(),
        FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.ADDRESS));
  }

  /** Nanoseconds so far. */
  public static long nanos() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment time = arena.allocate(16, 8);
      int result = (int) CLOCK_GETTIME.invokeExact(CLOCK_PROCESS_CPUTIME_ID, time);
      if (result != 0) {
        throw new IllegalStateException("no clock of the process: result=" + result);
      }
      return time.get(ValueLayout.JAVA_LONG, 0) * 1_000_000_000L
          + time.get(ValueLayout.JAVA_LONG, 8);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }
}
