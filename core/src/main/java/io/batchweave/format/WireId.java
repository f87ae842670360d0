package io.batchweave.format;

import io.batchweave.format.sbe.IdDecoder;
import io.batchweave.format.sbe.IdEncoder;
import java.util.UUID;

/** 128-bit ids on the wire: two little-endian halves, the high one first. */
final class WireId {
  private WireId() {}

  static void put(IdEncoder encoder, UUID id) {
    encoder.high(id.getMostSignificantBits()).low(id.getLeastSignificantBits());
  }

  static UUID id(IdDecoder decoder) {
    return new UUID(decoder.high(), decoder.low());
  }
}
