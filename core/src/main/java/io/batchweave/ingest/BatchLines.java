package io.batchweave.ingest;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Grid;
import io.batchweave.format.Safetensors;
import io.batchweave.produce.Tgb;
import io.batchweave.produce.TgbBuilder;
import io.batchweave.store.Payload;
import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Iterator;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Batches as JSON lines, for producers in any language. One line is one TGB:
 *
 * <pre>{@code
 * {"slices":["a.safetensors","b.safetensors"], "state":{"file":3,"offset":512}, "origin":"shard 3"}
 * }</pre>
 *
 * <ul>
 *   <li>{@code slices}: paths of complete safetensors files in grid order (dp * cpSize + cp), one
 *       for each coordinate; they must stay unchanged until the batch is committed;
 *   <li>{@code state}: any JSON value; what the next incarnation is told; optional;
 *   <li>{@code origin}: where the data came from, for people; optional;
 *   <li>{@code microBatches}, {@code samples}, {@code tokens}: one number for all slices or an
 *       array with one for each; by default 1, 0 and 0.
 * </ul>
 *
 * <p>Pure but for reading the files that a line names. Not thread-safe.
 */
public final class BatchLines {
  private static final ObjectMapper JSON =
      new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
  private static final Set<String> FIELDS =
      Set.of("slices", "state", "origin", "microBatches", "samples", "tokens");

  /** A line names files and a state; what is longer is no such line. */
  private static final int MAX_LINE_CHARS = 16 << 20;

  private final Grid grid;
  private long lineNumber;

  /**
   * What a line says.
   *
   * @param tgb the batch
   * @param sourceState the line's {@code state} as JSON text in UTF-8; empty without one
   */
  public record Batch(Tgb tgb, Bytes sourceState) {}

  /**
   * Starts at line 1.
   *
   * @param grid the stream's grid
   */
  public BatchLines(Grid grid) {
    this.grid = grid;
  }

  /**
   * The next line of a text, without its end.
   *
   * @param in the text, buffered
   * @return null at the end of the text
   * @throws IOException when it cannot be read
   * @throws BatchWeaveException of kind CONFIG when the line is longer than {@value
   *     #MAX_LINE_CHARS} characters
   */
  public @Nullable String next(Reader in) throws IOException {
    StringBuilder line = new StringBuilder();
    int c = in.read();
    boolean isEnd = c < 0;
    for (; c >= 0 && c != '\n'; c = in.read()) {
      if (line.length() == MAX_LINE_CHARS) {
        throw new BatchWeaveException(
            Kind.CONFIG,
            "line "
                + (lineNumber + 1)
                + " is longer than "
                + MAX_LINE_CHARS
                + " characters; one line names the files of one batch");
      }
      line.append((char) c);
    }
    return isEnd ? null : line.toString();
  }

  /**
   * Reads a line.
   *
   * @param line one JSON object
   * @return the batch, ready to be added to a producer
   * @throws BatchWeaveException of kind CONFIG naming the line, the field or the file and what is
   *     wrong with it
   */
  public Batch parse(String line) {
    lineNumber++;
    JsonNode node;
    try {
      node = JSON.readTree(line);
    } catch (JsonProcessingException e) {
      throw refused("not JSON: " + e.getOriginalMessage());
    }
    if (!node.isObject()) {
      throw refused("not a JSON object");
    }
    for (Iterator<String> names = node.fieldNames(); names.hasNext(); ) {
      String name = names.next();
      if (!FIELDS.contains(name)) {
        throw refused(
            "unknown field '" + name + "'; known are " + FIELDS.stream().sorted().toList());
      }
    }
    JsonNode slices = node.path("slices");
    if (!slices.isArray() || slices.size() != grid.sliceCount()) {
      throw refused(
          "'slices' must be an array of "
              + grid.sliceCount()
              + " paths, one for each coordinate of the grid "
              + grid.dp()
              + "x"
              + grid.cp()
              + (slices.isArray() ? "; it has " + slices.size() : ""));
    }
    TgbBuilder builder = new TgbBuilder(grid);
    try {
      for (int index = 0; index < slices.size(); index++) {
        builder.slice(
            index / grid.cp(),
            index % grid.cp(),
            slice(slices.get(index)),
            (int) number(node, "microBatches", index, 1, Integer.MAX_VALUE),
            number(node, "samples", index, 0, Long.MAX_VALUE),
            number(node, "tokens", index, 0, Long.MAX_VALUE));
      }
      return new Batch(builder.origin(text(node, "origin")).build(), state(node));
    } catch (BatchWeaveException e) {
      if (e.getMessage() != null && e.getMessage().startsWith("line ")) {
        throw e;
      }
      throw new BatchWeaveException(e.kind(), "line " + lineNumber + ": " + e.getMessage(), e);
    }
  }

  private Payload slice(JsonNode node) {
    if (!node.isTextual()) {
      throw refused("'slices' holds something that is no path: " + node);
    }
    Path path = Path.of(node.textValue());
    try {
      long lengthBytes = Files.size(path);
      Safetensors.read(path.toString(), header(path, lengthBytes), lengthBytes);
      return Payload.ofFile(path, 0, lengthBytes);
    } catch (IOException e) {
      throw refused(
          "slice cannot be read: path=" + path + " reason=" + e.getClass().getSimpleName());
    }
  }

  private static Bytes header(Path path, long lengthBytes) throws IOException {
    try (InputStream in = Files.newInputStream(path)) {
      byte[] prefix = in.readNBytes(Long.BYTES);
      int headerBytes = Safetensors.headerBytes(path.toString(), Bytes.wrap(prefix), lengthBytes);
      byte[] header = Arrays.copyOf(prefix, headerBytes);
      in.readNBytes(header, prefix.length, headerBytes - prefix.length);
      return Bytes.wrap(header);
    }
  }

  private long number(JsonNode node, String field, int index, long ifAbsent, long max) {
    JsonNode value = node.path(field);
    if (value.isMissingNode()) {
      return ifAbsent;
    }
    if (value.isArray()) {
      if (value.size() != grid.sliceCount()) {
        throw refused(
            "'"
                + field
                + "' has "
                + value.size()
                + " numbers for "
                + grid.sliceCount()
                + " slices");
      }
      value = value.get(index);
    }
    if (!value.isIntegralNumber() || !value.canConvertToLong() || value.longValue() > max) {
      throw refused("'" + field + "' is no whole number in range: " + value);
    }
    return value.longValue();
  }

  private String text(JsonNode node, String field) {
    JsonNode value = node.path(field);
    if (value.isMissingNode()) {
      return "";
    }
    if (!value.isTextual()) {
      throw refused("'" + field + "' is no text: " + value);
    }
    return value.textValue();
  }

  private static Bytes state(JsonNode node) {
    JsonNode value = node.path("state");
    return value.isMissingNode()
        ? Bytes.EMPTY
        : Bytes.wrap(value.toString().getBytes(StandardCharsets.UTF_8));
  }

  private BatchWeaveException refused(String why) {
    return new BatchWeaveException(Kind.CONFIG, "line " + lineNumber + ": " + why);
  }
}
