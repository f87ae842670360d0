package io.batchweave.bridge.daemon;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectWriter;
import java.util.List;

/**
 * What {@code daemon.json} says; the package page tells what each field means. What a client needs
 * before it attaches stands in front.
 */
record DaemonJson(
    int format,
    int abi,
    String aeron,
    String aeronDirectory,
    int helloStreamId,
    long pid,
    int pageSizeBytes,
    int hold,
    List<Stream> streams,
    List<Ring> rings,
    String metrics) {
  private static final ObjectWriter WRITER = new ObjectMapper().writer();

  /** A stream that is served, as to be named in Hello. */
  record Stream(String url) {}

  /** A ring and its file. */
  record Ring(int ring, String dataFile, long sizeBytes) {}

  DaemonJson {
    streams = List.copyOf(streams);
    rings = List.copyOf(rings);
  }

  /** The file's text. */
  String text() {
    try {
      return WRITER.writeValueAsString(this) + "\n";
    } catch (JsonProcessingException e) {
      throw new AssertionError("numbers and text are always written", e);
    }
  }
}
