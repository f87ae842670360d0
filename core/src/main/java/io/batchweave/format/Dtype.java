package io.batchweave.format;

import org.jspecify.annotations.Nullable;

/** Element types of the safetensors format; the constants are named as in its headers. */
public enum Dtype {
  /** Complex of two 32-bit floats. */
  C64(64),
  /** IEEE double. */
  F64(64),
  /** Signed 64 bits. */
  I64(64),
  /** Unsigned 64 bits. */
  U64(64),
  /** IEEE single. */
  F32(32),
  /** Signed 32 bits. */
  I32(32),
  /** Unsigned 32 bits. */
  U32(32),
  /** IEEE half. */
  F16(16),
  /** bfloat16. */
  BF16(16),
  /** Signed 16 bits. */
  I16(16),
  /** Unsigned 16 bits. */
  U16(16),
  /** 8-bit float, 4 exponent bits. */
  F8_E4M3(8),
  /** 8-bit float, 5 exponent bits. */
  F8_E5M2(8),
  /** 8-bit float, 4 exponent bits, finite, no negative zero. */
  F8_E4M3FNUZ(8),
  /** 8-bit float, 5 exponent bits, finite, no negative zero. */
  F8_E5M2FNUZ(8),
  /** 8-bit scale, 8 exponent bits. */
  F8_E8M0(8),
  /** Signed 8 bits. */
  I8(8),
  /** Unsigned 8 bits. */
  U8(8),
  /** One byte, 0 or 1. */
  BOOL(8),
  /** 6-bit float, 2 exponent bits, packed. */
  F6_E2M3(6),
  /** 6-bit float, 3 exponent bits, packed. */
  F6_E3M2(6),
  /** 4-bit float, packed. */
  F4(4);

  private final int bits;

  Dtype(int bits) {
    this.bits = bits;
  }

  /** Bits of one element. */
  public int bits() {
    return bits;
  }

  /** The type of that name, null if there is none. */
  static @Nullable Dtype of(String name) {
    for (Dtype dtype : values()) {
      if (dtype.name().equals(name)) {
        return dtype;
      }
    }
    return null;
  }
}
