package io.batchweave.bridge.ring;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** Loads and stores of shared fields; the ordering is in the name. */
final class SharedFields {
  private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();
  private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();

  private SharedFields() {}

  static int loadPlainInt(MemorySegment segment, long offset) {
    return (int) INT.get(segment, offset);
  }

  static long loadPlainLong(MemorySegment segment, long offset) {
    return (long) LONG.get(segment, offset);
  }

  static void storePlainInt(MemorySegment segment, long offset, int value) {
    INT.set(segment, offset, value);
  }

  static void storePlainLong(MemorySegment segment, long offset, long value) {
    LONG.set(segment, offset, value);
  }

  static int loadAcquireInt(MemorySegment segment, long offset) {
    return (int) INT.getAcquire(segment, offset);
  }

  static long loadAcquireLong(MemorySegment segment, long offset) {
    return (long) LONG.getAcquire(segment, offset);
  }

  static void storeReleaseInt(MemorySegment segment, long offset, int value) {
    INT.setRelease(segment, offset, value);
  }

  static void storeReleaseLong(MemorySegment segment, long offset, long value) {
    LONG.setRelease(segment, offset, value);
  }

  static void addReleaseInt(MemorySegment segment, long offset, int value) {
    int ignored = (int) INT.getAndAddRelease(segment, offset, value);
  }
}
