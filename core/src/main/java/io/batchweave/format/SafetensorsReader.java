package io.batchweave.format;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.batchweave.BatchWeaveException;
import io.batchweave.Bytes;
import io.batchweave.format.Safetensors.Header;
import io.batchweave.format.Safetensors.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Reads one header, strictly; offsets in messages are those of the JSON's characters. */
final class SafetensorsReader {
  private final String object;
  private final Bytes prefix;
  private final int headerBytes;
  private final long fileLengthBytes;
  private final List<Tensor> tensors = new ArrayList<>();
  private final SortedMap<String, String> metadata = new TreeMap<>();
  private long at = Safetensors.PREFIX_BYTES;

  SafetensorsReader(String object, Bytes prefix, int headerBytes, long fileLengthBytes) {
    this.object = object;
    this.prefix = prefix;
    this.headerBytes = headerBytes;
    this.fileLengthBytes = fileLengthBytes;
  }

  Header header() {
    byte[] bytes = new byte[headerBytes];
    prefix.asByteBuffer().get(bytes);
    String text = text(bytes);
    if (text.charAt(0) != '{') {
      throw corrupt("the header does not begin with '{'");
    }
    try (JsonParser json = Safetensors.JSON.createParser(text)) {
      json.nextToken();
      object(json);
      if (json.nextToken() != null) {
        throw corrupt("something follows the JSON object");
      }
    } catch (IOException e) {
      throw corrupt("not JSON: " + firstLine(e.getMessage()));
    }
    cover();
    return new Header(Bytes.wrap(bytes), tensors, metadata, fileLengthBytes);
  }

  private String text(byte[] bytes) {
    try {
      return StandardCharsets.UTF_8
          .newDecoder()
          .decode(
              ByteBuffer.wrap(
                  bytes, Safetensors.PREFIX_BYTES, headerBytes - Safetensors.PREFIX_BYTES))
          .toString();
    } catch (CharacterCodingException e) {
      throw corrupt("the header is not UTF-8");
    }
  }

  private void object(JsonParser json) throws IOException {
    Set<String> names = new HashSet<>();
    while (next(json) == JsonToken.FIELD_NAME) {
      String name = json.currentName();
      if (!names.add(name)) {
        throw corrupt("two tensors have one name: name=" + name);
      }
      if (next(json) != JsonToken.START_OBJECT) {
        throw corrupt("not an object: name=" + name);
      }
      if (name.equals(Safetensors.METADATA)) {
        metadata(json);
      } else {
        tensor(json, name);
      }
    }
  }

  private void metadata(JsonParser json) throws IOException {
    while (next(json) == JsonToken.FIELD_NAME) {
      String key = json.currentName();
      if (next(json) != JsonToken.VALUE_STRING) {
        throw corrupt("metadata is not text: key=" + key);
      }
      if (metadata.put(key, json.getText()) != null) {
        throw corrupt("two metadata have one key: key=" + key);
      }
    }
  }

  private void tensor(JsonParser json, String name) throws IOException {
    Dtype dtype = null;
    List<Long> shape = null;
    List<Long> offsets = null;
    while (next(json) == JsonToken.FIELD_NAME) {
      String field = json.currentName();
      next(json);
      switch (field) {
        case "dtype" -> dtype = once(dtype, dtype(json, name), field, name);
        case "shape" ->
            shape = once(shape, numbers(json, Safetensors.MAX_DIMENSIONS, name), field, name);
        case "data_offsets" -> offsets = once(offsets, numbers(json, 2, name), field, name);
        default -> throw corrupt("unknown field: tensor=" + name + " field=" + field);
      }
    }
    if (dtype == null || shape == null || offsets == null || offsets.size() != 2) {
      throw corrupt("dtype, shape or both data_offsets are missing: tensor=" + name);
    }
    long length = Safetensors.lengthBytes(dtype, shape);
    if (length < 0 || offsets.get(1) - offsets.get(0) != length) {
      throw corrupt(
          "data_offsets differ from dtype and shape: tensor="
              + name
              + " dtype="
              + dtype
              + " shape="
              + shape
              + " data_offsets="
              + offsets);
    }
    long start = offsets.get(0);
    if (start > fileLengthBytes - headerBytes - length) {
      throw corrupt("data lies behind the end of the file: tensor=" + name);
    }
    tensors.add(new Tensor(name, dtype, shape, headerBytes + start, length));
  }

  private <T> T once(@Nullable T before, T value, String field, String name) {
    if (before != null) {
      throw corrupt("field given twice: tensor=" + name + " field=" + field);
    }
    return value;
  }

  private Dtype dtype(JsonParser json, String name) throws IOException {
    Dtype dtype = json.currentToken() == JsonToken.VALUE_STRING ? Dtype.of(json.getText()) : null;
    if (dtype == null) {
      throw corrupt("unknown dtype: tensor=" + name + " dtype=" + json.getText());
    }
    return dtype;
  }

  private List<Long> numbers(JsonParser json, int limit, String name) throws IOException {
    if (json.currentToken() != JsonToken.START_ARRAY) {
      throw corrupt("not a list of numbers: tensor=" + name);
    }
    List<Long> numbers = new ArrayList<>();
    while (next(json) != JsonToken.END_ARRAY) {
      if (json.currentToken() != JsonToken.VALUE_NUMBER_INT
          || json.getNumberType() == JsonParser.NumberType.BIG_INTEGER
          || json.getLongValue() < 0) {
        throw corrupt("not a number from 0 to 2^63-1: tensor=" + name);
      }
      if (numbers.size() == limit) {
        throw corrupt("too many numbers: tensor=" + name + " limit=" + limit);
      }
      numbers.add(json.getLongValue());
    }
    return numbers;
  }

  /** Data must fill the rest of the file exactly: no hole, no overlap, nothing behind. */
  private void cover() {
    tensors.sort(Comparator.comparingLong(Tensor::offset).thenComparingLong(Tensor::lengthBytes));
    long end = headerBytes;
    for (Tensor tensor : tensors) {
      if (tensor.offset() != end) {
        throw corrupt(
            (tensor.offset() > end ? "hole before" : "overlap at") + " tensor=" + tensor.name());
      }
      end += tensor.lengthBytes();
    }
    if (end != fileLengthBytes) {
      throw corrupt("bytes behind the data: left=" + (fileLengthBytes - end));
    }
  }

  private JsonToken next(JsonParser json) throws IOException {
    JsonToken token = json.nextToken();
    at = Safetensors.PREFIX_BYTES + json.currentTokenLocation().getCharOffset();
    if (token == null) {
      throw corrupt("the JSON ends early");
    }
    return token;
  }

  private BatchWeaveException corrupt(String what) {
    return Safetensors.corrupt(object, at, what);
  }

  private static String firstLine(@Nullable String message) {
    return message == null ? "" : message.lines().findFirst().orElse("");
  }
}
