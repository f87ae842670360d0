package io.batchweave.demo;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * What a rank wrote down of the steps it has finished: one JSON object a line, appended and flushed
 * after each step, so that the file is also the rank's own position after a crash.
 *
 * <pre>{@code
 * {"step":0,"bytes":4184,"crc32c":["8a1f03b2"],"samples":4,"tokens":1024,"tokenSum":93184,
 *  "waitNanos":51200}
 * }</pre>
 *
 * @param lines the complete lines, in the order in which they were written
 */
public record RankReport(List<Line> lines) {
  private static final ObjectMapper JSON = new ObjectMapper();

  /**
   * One finished step.
   *
   * @param step the step
   * @param bytes length of the rank's slices
   * @param crc32c checksum of each slice, compared by the rank with the bytes it maps
   * @param samples samples of the slices
   * @param tokens tokens of the slices
   * @param tokenSum sum of all elements of the int32 tensors, as the rank read them
   * @param waitNanos time from asking for the step to having it
   */
  public record Line(
      long step,
      long bytes,
      List<Integer> crc32c,
      long samples,
      long tokens,
      long tokenSum,
      long waitNanos) {
    /** Copies the list. */
    public Line {
      crc32c = List.copyOf(crc32c);
    }

    /** As it is written, with the line feed. */
    public String text() {
      ObjectNode line = JSON.createObjectNode().put("step", step).put("bytes", bytes);
      ArrayNode checksums = line.putArray("crc32c");
      crc32c.forEach(crc -> checksums.add("%08x".formatted(crc)));
      line.put("samples", samples)
          .put("tokens", tokens)
          .put("tokenSum", tokenSum)
          .put("waitNanos", waitNanos);
      return line + "\n";
    }
  }

  /** Copies the list. */
  public RankReport {
    lines = List.copyOf(lines);
  }

  /**
   * Reads a report; a last line that a crash cut short is left out.
   *
   * @param file the report; absent means empty
   * @throws IOException if it cannot be read
   */
  public static RankReport read(Path file) throws IOException {
    if (Files.notExists(file)) {
      return new RankReport(List.of());
    }
    String text = Files.readString(file, StandardCharsets.UTF_8);
    List<Line> lines = new ArrayList<>();
    int begin = 0;
    for (int end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', begin)) {
      lines.add(parse(file, text.substring(begin, end)));
      begin = end + 1;
    }
    return new RankReport(lines);
  }

  private static Line parse(Path file, String line) throws IOException {
    try {
      JsonNode node = JSON.readTree(line);
      List<Integer> crc32c = new ArrayList<>();
      node.required("crc32c")
          .forEach(crc -> crc32c.add(Integer.parseUnsignedInt(crc.textValue(), 16)));
      return new Line(
          node.required("step").longValue(),
          node.required("bytes").longValue(),
          crc32c,
          node.required("samples").longValue(),
          node.required("tokens").longValue(),
          node.required("tokenSum").longValue(),
          node.required("waitNanos").longValue());
    } catch (JsonProcessingException | IllegalArgumentException e) {
      throw new IOException("not a rank report: file=" + file + " line=" + line, e);
    }
  }

  /** The step after the last one finished; 0 for an empty report. */
  public long nextStep() {
    return lines.isEmpty() ? 0 : lines.getLast().step() + 1;
  }
}
