package io.batchweave.format;

import io.batchweave.Bytes;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/** The safetensors format: header writer and strict reader. */
@SuppressWarnings("DoNotCallSuggester")
public final class Safetensors {
  private Safetensors() {}

  /**
   * One tensor to be written.
   *
   * @param name unique in the file, not {@code __metadata__}
   * @param dtype element type
   * @param shape dimensions; empty for a scalar
   */
  public record Spec(String name, Dtype dtype, List<Long> shape) {
    /** Copies the list. */
    public Spec {
      shape = List.copyOf(shape);
    }
  }

  /**
   * One tensor in a file.
   *
   * @param name its name
   * @param dtype element type
   * @param shape dimensions; empty for a scalar
   * @param offset first byte, counted from the start of the file
   * @param lengthBytes length of its data
   */
  public record Tensor(String name, Dtype dtype, List<Long> shape, long offset, long lengthBytes) {
    /** Copies the list. */
    public Tensor {
      shape = List.copyOf(shape);
    }
  }

  /**
   * The header of a file.
   *
   * @param bytes everything before the data: length, JSON, padding
   * @param tensors in the order of their data
   * @param metadata free text
   * @param lengthBytes length of the whole file
   */
  public record Header(
      Bytes bytes, List<Tensor> tensors, SortedMap<String, String> metadata, long lengthBytes) {
    /** Copies the collections. */
    public Header {
      tensors = List.copyOf(tensors);
      metadata = new TreeMap<>(metadata);
    }
  }

  /** Element types. */
  public enum Dtype {
    /** One byte, 0 or 1. */
    BOOL(1),
    /** Unsigned 8 bits. */
    U8(1),
    /** Signed 8 bits. */
    I8(1),
    /** 8-bit float, 5 exponent bits. */
    F8_E5M2(1),
    /** 8-bit float, 4 exponent bits. */
    F8_E4M3(1),
    /** Signed 16 bits. */
    I16(2),
    /** Unsigned 16 bits. */
    U16(2),
    /** IEEE half. */
    F16(2),
    /** bfloat16. */
    BF16(2),
    /** Signed 32 bits. */
    I32(4),
    /** Unsigned 32 bits. */
    U32(4),
    /** IEEE single. */
    F32(4),
    /** IEEE double. */
    F64(8),
    /** Signed 64 bits. */
    I64(8),
    /** Unsigned 64 bits. */
    U64(8);

    private final int sizeBytes;

    Dtype(int sizeBytes) {
      this.sizeBytes = sizeBytes;
    }

    /** Length of one element. */
    public int sizeBytes() {
      return sizeBytes;
    }
  }

  /**
   * Lays out a file: data begins at a multiple of 64, every tensor is naturally aligned.
   *
   * @param specs the tensors
   * @param metadata free text
   */
  public static Header layout(List<Spec> specs, SortedMap<String, String> metadata) {
    throw new UnsupportedOperationException(specs.toString() + metadata);
  }

  /**
   * Reads the header of a file.
   *
   * @param object the file's or object's name, for messages
   * @param prefix the first bytes of the file, at least the whole header
   * @param fileLengthBytes length of the whole file
   */
  public static Header read(String object, Bytes prefix, long fileLengthBytes) {
    throw new UnsupportedOperationException(object + prefix + fileLengthBytes);
  }
}
