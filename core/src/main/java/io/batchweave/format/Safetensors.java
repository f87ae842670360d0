package io.batchweave.format;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The <a href="https://github.com/huggingface/safetensors">safetensors</a> format.
 *
 * <pre>
 *  0            8                                 64·n
 *  +------------+---------------------------------+---------- - -
 *  | length u64 | {"name":{"dtype":"I32",         | data
 *  | of the JSON|  "shape":[2,8],                 |
 *  |            |  "data_offsets":[0,64]}} spaces |
 *  +------------+---------------------------------+---------- - -
 * </pre>
 *
 * The writer orders tensors by falling element size, then by name, and pads the header with spaces
 * to a multiple of 64: in a slice, which begins at a multiple of 64, every tensor is naturally
 * aligned. The reader takes any order and refuses what the public library refuses (a header above
 * 100 MB, holes, overlaps, bytes behind the data, a length that differs from dtype and shape) and
 * duplicate names and unknown fields besides.
 */
public final class Safetensors {
  /** Data begins at a multiple of this. */
  public static final int ALIGNMENT = 64;

  /** Limit of the header's JSON, bytes. */
  public static final int HEADER_LIMIT_BYTES = 100_000_000;

  /** Limit of a tensor's dimensions. */
  public static final int MAX_DIMENSIONS = 64;

  static final String METADATA = "__metadata__";
  static final int PREFIX_BYTES = 8;
  static final JsonFactory JSON = new JsonFactory();

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
   * @param tensors in the order of their data, which follows without gaps
   * @param metadata free text
   * @param lengthBytes length of the whole file
   */
  public record Header(
      Bytes bytes, List<Tensor> tensors, SortedMap<String, String> metadata, long lengthBytes) {
    /** Copies the collections. */
    public Header {
      tensors = List.copyOf(tensors);
      metadata = Collections.unmodifiableSortedMap(new TreeMap<>(metadata));
    }
  }

  /**
   * Lays out a file. What the caller writes is the header's bytes, then the data of its tensors in
   * the order given there, nothing between.
   *
   * @param specs the tensors, in any order
   * @param metadata free text
   * @throws BatchWeaveException CONFIG if a name is taken twice or reserved, a shape is negative or
   *     too large, or elements do not fill whole bytes; LIMIT if the header is too long
   */
  public static Header layout(List<Spec> specs, SortedMap<String, String> metadata) {
    List<Spec> ordered = new ArrayList<>(specs);
    ordered.sort(
        Comparator.comparingInt((Spec spec) -> -spec.dtype().bits()).thenComparing(Spec::name));
    Set<String> names = new HashSet<>();
    List<Tensor> relative = new ArrayList<>();
    long end = 0;
    for (Spec spec : ordered) {
      if (!names.add(spec.name()) || spec.name().equals(METADATA)) {
        throw refused(spec, "its name is taken twice or reserved");
      }
      long length = lengthBytes(spec.dtype(), spec.shape());
      if (length < 0 || end + length < 0) {
        throw refused(spec, "its shape is negative, too large or does not fill whole bytes");
      }
      relative.add(new Tensor(spec.name(), spec.dtype(), spec.shape(), end, length));
      end += length;
    }
    byte[] json = json(relative, metadata).getBytes(StandardCharsets.UTF_8);
    int padded = json.length + (-(json.length + PREFIX_BYTES) & (ALIGNMENT - 1));
    if (padded > HEADER_LIMIT_BYTES) {
      throw new BatchWeaveException(
          Kind.LIMIT,
          "safetensors header too long: bytes="
              + padded
              + " limit="
              + HEADER_LIMIT_BYTES
              + "; use fewer tensors or less metadata");
    }
    ByteBuffer header = ByteBuffer.allocate(PREFIX_BYTES + padded).order(ByteOrder.LITTLE_ENDIAN);
    header.putLong(padded).put(json);
    while (header.hasRemaining()) {
      header.put((byte) ' ');
    }
    List<Tensor> tensors = new ArrayList<>();
    for (Tensor tensor : relative) {
      tensors.add(
          new Tensor(
              tensor.name(),
              tensor.dtype(),
              tensor.shape(),
              header.capacity() + tensor.offset(),
              tensor.lengthBytes()));
    }
    return new Header(Bytes.wrap(header.array()), tensors, metadata, header.capacity() + end);
  }

  /**
   * Reads the header of a file. Costs memory in proportion to the header, whatever it says.
   *
   * @param object the file's or object's name, for messages
   * @param prefix the first bytes of the file, at least the whole header: see {@link #headerBytes}
   * @param fileLengthBytes length of the whole file
   * @throws BatchWeaveException CORRUPT
   */
  public static Header read(String object, Bytes prefix, long fileLengthBytes) {
    int headerBytes = headerBytes(object, prefix, fileLengthBytes);
    if (prefix.length() < headerBytes) {
      throw corrupt(
          object, 0, "header cut off: bytes=" + headerBytes + " given=" + prefix.length());
    }
    return new SafetensorsReader(object, prefix, headerBytes, fileLengthBytes).header();
  }

  /**
   * Length of everything before the data, from the first eight bytes.
   *
   * @param object the file's or object's name, for messages
   * @param prefix at least the first eight bytes of the file
   * @param fileLengthBytes length of the whole file
   * @throws BatchWeaveException CORRUPT if there is no header or it is too long
   */
  public static int headerBytes(String object, Bytes prefix, long fileLengthBytes) {
    if (prefix.length() < PREFIX_BYTES || fileLengthBytes < PREFIX_BYTES) {
      throw corrupt(object, 0, "shorter than the length of a header: bytes=" + fileLengthBytes);
    }
    long length = prefix.asByteBuffer().order(ByteOrder.LITTLE_ENDIAN).getLong(0);
    if (length < 2 || length > HEADER_LIMIT_BYTES || length > fileLengthBytes - PREFIX_BYTES) {
      throw corrupt(
          object,
          0,
          "impossible header: bytes="
              + Long.toUnsignedString(length)
              + " limit="
              + Math.min(HEADER_LIMIT_BYTES, fileLengthBytes - PREFIX_BYTES));
    }
    return PREFIX_BYTES + (int) length;
  }

  /** Length of a tensor's data; -1 if there is no such tensor. */
  static long lengthBytes(Dtype dtype, List<Long> shape) {
    if (shape.size() > MAX_DIMENSIONS) {
      return -1;
    }
    long bits = dtype.bits();
    for (long dimension : shape) {
      if (dimension < 0 || Math.multiplyHigh(bits, dimension) != 0 || bits * dimension < 0) {
        return -1;
      }
      bits *= dimension;
    }
    return bits % 8 == 0 ? bits / 8 : -1;
  }

  static BatchWeaveException corrupt(String object, long offset, String what) {
    return new BatchWeaveException(
        Kind.CORRUPT,
        "not a safetensors file: object="
            + object
            + " offset="
            + offset
            + ": "
            + what
            + "; write it again");
  }

  private static BatchWeaveException refused(Spec spec, String what) {
    return new BatchWeaveException(
        Kind.CONFIG,
        "cannot write tensor: name="
            + spec.name()
            + " dtype="
            + spec.dtype()
            + " shape="
            + spec.shape()
            + ": "
            + what);
  }

  private static String json(List<Tensor> tensors, SortedMap<String, String> metadata) {
    StringWriter text = new StringWriter();
    try (JsonGenerator json = JSON.createGenerator(text)) {
      json.writeStartObject();
      if (!metadata.isEmpty()) {
        json.writeObjectFieldStart(METADATA);
        for (Map.Entry<String, String> entry : metadata.entrySet()) {
          json.writeStringField(entry.getKey(), entry.getValue());
        }
        json.writeEndObject();
      }
      for (Tensor tensor : tensors) {
        json.writeObjectFieldStart(tensor.name());
        json.writeStringField("dtype", tensor.dtype().name());
        json.writeArrayFieldStart("shape");
        for (long dimension : tensor.shape()) {
          json.writeNumber(dimension);
        }
        json.writeEndArray();
        json.writeArrayFieldStart("data_offsets");
        json.writeNumber(tensor.offset());
        json.writeNumber(tensor.offset() + tensor.lengthBytes());
        json.writeEndArray();
        json.writeEndObject();
      }
      json.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException("a string accepts everything", e);
    }
    return text.toString();
  }
}
