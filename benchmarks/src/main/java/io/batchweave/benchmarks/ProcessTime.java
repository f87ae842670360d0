package io.batchweave.benchmarks;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * Processor time of a process, all its threads included, native and ended ones too, to the
 * nanosecond.
 */
public final class ProcessTime {
  private static final int CLOCK_PROCESS_CPUTIME_ID = 2;
  private static final FunctionDescriptor NUMBER_AND_ADDRESS =
      FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.ADDRESS);
  private static final MethodHandle CLOCK_GETTIME = link("clock_gettime");
  private static final MethodHandle CLOCK_GETCPUCLOCKID = link("clock_getcpuclockid");

  private ProcessTime() {}

  // Restricted: functions of the C library that write sixteen bytes at most.
  @SuppressWarnings("restricted")
  private static MethodHandle link(String function) {
    Linker linker = Linker.nativeLinker();
    return linker.downcallHandle(
        linker.defaultLookup().find(function).orElseThrow(), NUMBER_AND_ADDRESS);
  }

  /** Nanoseconds of this process so far. */
  public static long nanos() {
    return clockNanos(CLOCK_PROCESS_CPUTIME_ID);
  }

  /**
   * Nanoseconds of another process so far.
   *
   * @param pid of a process that is alive
   */
  public static long nanos(long pid) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment clock = arena.allocate(ValueLayout.JAVA_INT);
      int result = (int) CLOCK_GETCPUCLOCKID.invokeExact((int) pid, clock);
      requireSuccess(result);
      return clockNanos(clock.get(ValueLayout.JAVA_INT, 0));
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  private static void requireSuccess(int result) {
    if (result != 0) {
      throw new IllegalStateException("no clock of the process: result=" + result);
    }
  }

  private static long clockNanos(int clock) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment time = arena.allocate(16, 8);
      int result = (int) CLOCK_GETTIME.invokeExact(clock, time);
      requireSuccess(result);
      return time.get(ValueLayout.JAVA_LONG, 0) * 1_000_000_000L
          + time.get(ValueLayout.JAVA_LONG, 8);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }
}
