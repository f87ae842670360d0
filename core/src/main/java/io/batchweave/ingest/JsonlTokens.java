package io.batchweave.ingest;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.ingest.ByteSource.SourceFile;
import java.io.ByteArrayOutputStream;
import org.jspecify.annotations.Nullable;

/** JSONL: the text of each line's field, byte by byte, then the end of the document. */
final class JsonlTokens implements FileTokens {
  /** Longest line, bytes. */
  static final int LINE_BYTES = 64 << 20;

  private final ByteSource source;
  private final SourceFile file;
  private final ContentHash hash;
  private final JsonlLine parser;
  private final OnError onError;
  private final IngestListener listener;
  private final TokenCounts counts;
  private final byte[] chunk;
  private long readOffset;
  private int chunkAt;
  private int chunkEnd;
  private long consumed;
  private long recordOffset;
  private long lines;
  private byte @Nullable [] record;
  private int recordAt;

  /** Goes on at the start of a line; the hash covers what lies before it. */
  JsonlTokens(
      ByteSource source,
      SourceFile file,
      ContentHash hash,
      IngestCursor.Position position,
      TokenReader.Settings settings,
      byte[] chunk,
      TokenCounts counts) {
    this.source = source;
    this.file = file;
    this.hash = hash;
    this.parser = new JsonlLine(settings.textField());
    this.onError = settings.onError();
    this.listener = settings.listener();
    this.counts = counts;
    this.chunk = chunk;
    this.readOffset = position.recordOffset();
    this.consumed = position.recordOffset();
    this.recordOffset = position.recordOffset();
    this.lines = hash.newlines();
    if (position.recordTokens() > 0) {
      resumeRecord(position.recordTokens());
    }
  }

  private void resumeRecord(long tokens) {
    TokenCounts before = new TokenCounts();
    before.skippedLines = counts.skippedLines;
    if (!nextRecord() || record == null || tokens > record.length) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "line no longer holds the text that is partly in the stream: file="
              + file.path()
              + " line="
              + (lines + 1)
              + "; restore the file");
    }
    counts.skippedLines = before.skippedLines;
    recordAt = (int) tokens;
  }

  @Override
  public int next(int[] target, int from, int to) {
    int at = from;
    while (at < to && (record != null || nextRecord())) {
      byte[] text = record;
      if (text == null) {
        throw new IllegalStateException("a record was read");
      }
      int length = Math.min(to - at, text.length - recordAt);
      for (int i = 0; i < length; i++) {
        target[at + i] = text[recordAt + i] & 0xFF;
      }
      counts.bytes += length;
      recordAt += length;
      at += length;
      if (recordAt == text.length && at < to) {
        target[at++] = ByteTokens.END_OF_DOCUMENT;
        counts.documents++;
        endRecord();
      }
    }
    return at - from;
  }

  private void endRecord() {
    record = null;
    recordAt = 0;
    recordOffset = consumed;
    lines++;
  }

  /** Reads on to the next line that gives a document; false at the end of the file. */
  private boolean nextRecord() {
    while (consumed < file.sizeBytes()) {
      JsonlLine.Result result = parser.parse(line());
      switch (result) {
        case JsonlLine.Text text -> {
          record = text.utf8();
          recordAt = 0;
          return true;
        }
        case JsonlLine.Blank blank -> {}
        case JsonlLine.Invalid invalid -> refuse(invalid.reason());
      }
      endRecord();
    }
    return false;
  }

  private void refuse(String reason) {
    if (onError == OnError.FAIL) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "bad JSONL line: file="
              + file.path()
              + " line="
              + (lines + 1)
              + ": "
              + reason
              + "; repair it or use --on-error=skip");
    }
    counts.skippedLines++;
    listener.onSkipped(file.path(), lines + 1, reason);
  }

  /** The next line without its end, null if it is too long. */
  private byte @Nullable [] line() {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    long length = 0;
    boolean ended = false;
    while (!ended && consumed < file.sizeBytes()) {
      if (chunkAt == chunkEnd) {
        fill();
      }
      int end = chunkAt;
      while (end < chunkEnd && chunk[end] != '\n') {
        end++;
      }
      ended = end < chunkEnd;
      length += end - chunkAt;
      if (length <= LINE_BYTES) {
        line.write(chunk, chunkAt, end - chunkAt);
      }
      int taken = end - chunkAt + (ended ? 1 : 0);
      hash.update(chunk, chunkAt, taken);
      consumed += taken;
      chunkAt += taken;
    }
    return length <= LINE_BYTES ? line.toByteArray() : null;
  }

  private void fill() {
    chunkAt = 0;
    chunkEnd = source.readListed(file, readOffset, chunk);
    readOffset += chunkEnd;
  }

  @Override
  public long consumedBytes() {
    return consumed;
  }

  @Override
  public long fingerprint() {
    return hash.value();
  }

  @Override
  public long recordOffset() {
    return recordOffset;
  }

  @Override
  public long recordTokens() {
    return recordAt;
  }

  @Override
  public boolean finished() {
    return record == null && consumed == file.sizeBytes();
  }
}
