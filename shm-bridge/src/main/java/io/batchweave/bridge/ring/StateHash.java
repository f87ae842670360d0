package io.batchweave.bridge.ring;

/** Accumulates a 64-bit hash of a state, field by field. */
final class StateHash {
  private long value = 0x9e3779b97f4a7c15L;

  StateHash add(long field) {
    long mixed = (value ^ field) * 0xff51afd7ed558ccdL;
    mixed ^= mixed >>> 32;
    value = mixed * 0xc4ceb9fe1a85ec53L + 0x9e3779b97f4a7c15L;
    return this;
  }

  long value() {
    return value ^ value >>> 29;
  }
}
