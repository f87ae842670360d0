package io.batchweave.ingest;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.ingest.ByteSource.SourceFile;
import io.batchweave.ingest.IngestCursor.Consumed;
import io.batchweave.ingest.IngestCursor.Position;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Files to tokens: the state machine whose state is the cursor. From one cursor and the same files
 * it always writes the same tokens, in whatever portions they are asked for. Order: the file that
 * was being read; files that grew since they were consumed, in the order in which they were begun;
 * files never seen, by path. Not thread-safe.
 */
final class TokenReader {
  private static final int CHUNK_BYTES = 256 << 10;

  /**
   * How files are read.
   *
   * @param textField the JSONL field; empty for plain text
   * @param onError what to do about bad lines
   * @param listener told of skipped lines
   */
  record Settings(String textField, OnError onError, IngestListener listener) {}

  /** What one {@link #read} took from one file: bytes [from, to). */
  record Extent(String path, long from, long to) {}

  private final ByteSource source;
  private final Settings settings;
  private final IngestCursor start;
  private final TokenCounts counts = new TokenCounts();
  private final byte[] chunk = new byte[CHUNK_BYTES];
  private final List<Consumed> files;
  private final Map<String, Integer> indexes = new HashMap<>();
  private final Deque<SourceFile> pending = new ArrayDeque<>();
  private final List<Extent> extents = new ArrayList<>();
  private @Nullable FileTokens current;
  private int currentIndex = -1;

  /**
   * Checks everything that was consumed, then stands where the cursor says.
   *
   * @throws BatchWeaveException CONFIG naming a consumed file that changed or vanished
   */
  TokenReader(ByteSource source, IngestCursor cursor, Settings settings) {
    this.source = source;
    this.settings = settings;
    this.start = cursor;
    this.files = new ArrayList<>(cursor.files());
    Map<String, SourceFile> listed = new HashMap<>();
    source.files().forEach(file -> listed.put(file.path(), file));
    for (int i = 0; i < files.size(); i++) {
      requireUnchanged(files.get(i), listed.get(files.get(i).path()));
      indexes.put(files.get(i).path(), i);
    }
    Position position = cursor.position();
    if (position != null) {
      SourceFile file = listed.get(files.get(position.fileIndex()).path());
      if (file == null) {
        throw new IllegalStateException("checked above");
      }
      open(file, position);
    }
    for (int i = 0; i < files.size(); i++) {
      SourceFile file = listed.get(files.get(i).path());
      if (file != null && i != currentIndex && file.sizeBytes() > files.get(i).lengthBytes()) {
        pending.add(file);
      }
    }
    for (SourceFile file : source.files()) {
      if (!indexes.containsKey(file.path()) && file.sizeBytes() > 0) {
        pending.add(file);
      }
    }
  }

  private void requireUnchanged(Consumed consumed, @Nullable SourceFile file) {
    if (file == null) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "a consumed file is no longer among the inputs: file="
              + consumed.path()
              + " consumedBytes="
              + consumed.lengthBytes()
              + "; put it back, or begin again with another producer id");
    }
    ContentHash hash =
        file.sizeBytes() < consumed.lengthBytes()
            ? null
            : ContentHash.of(source, file.path(), consumed.lengthBytes(), chunk);
    if (hash == null || hash.value() != consumed.fingerprint()) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "a consumed file was changed: file="
              + consumed.path()
              + " consumedBytes="
              + consumed.lengthBytes()
              + " sizeBytes="
              + file.sizeBytes()
              + "; restore it (appending is allowed), or begin again with another producer id");
    }
  }

  /**
   * Writes the next tokens.
   *
   * @param target takes as many as it has room for
   * @return how many; less than the room only at the end of all inputs
   */
  int read(int[] target) {
    extents.clear();
    int at = 0;
    while (at < target.length) {
      FileTokens tokens = current;
      if (tokens == null) {
        SourceFile next = pending.poll();
        if (next == null) {
          break;
        }
        tokens = open(next, null);
      }
      long from = tokens.recordOffset();
      int length = tokens.next(target, at, target.length);
      at += length;
      record(tokens);
      if (length > 0) {
        extents.add(new Extent(files.get(currentIndex).path(), from, tokens.consumedBytes()));
      }
      if (tokens.finished()) {
        current = null;
        currentIndex = -1;
      }
    }
    return at;
  }

  private void record(FileTokens tokens) {
    files.set(
        currentIndex,
        new Consumed(files.get(currentIndex).path(), tokens.consumedBytes(), tokens.fingerprint()));
  }

  private FileTokens open(SourceFile file, @Nullable Position resumed) {
    Integer known = indexes.get(file.path());
    int index = known == null ? files.size() : known;
    if (known == null) {
      files.add(new Consumed(file.path(), 0, 0));
      indexes.put(file.path(), index);
    }
    Position position =
        resumed == null ? new Position(index, files.get(index).lengthBytes(), 0) : resumed;
    ContentHash hash = ContentHash.of(source, file.path(), position.recordOffset(), chunk);
    if (hash == null) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "file became shorter while it was read: file="
              + file.path()
              + "; let files grow only, and run again");
    }
    currentIndex = index;
    FileTokens opened =
        settings.textField().isEmpty()
            ? new TextTokens(source, file, hash, position.recordOffset(), chunk, counts)
            : new JsonlTokens(source, file, hash, position, settings, chunk, counts);
    current = opened;
    return opened;
  }

  /** Where the last {@link #read} took its tokens from. */
  List<Extent> extents() {
    return List.copyOf(extents);
  }

  /** Files of which something was read, over all runs. */
  long files() {
    return files.size();
  }

  /** Documents finished so far, over all runs. */
  long documents() {
    return start.totals().documents() + counts.documents;
  }

  /** Input bytes so far, over all runs. */
  long bytes() {
    return start.totals().bytes() + counts.bytes;
  }

  /** Lines skipped so far, over all runs. */
  long skippedLines() {
    return start.totals().skippedLines() + counts.skippedLines;
  }

  /** The cursor after the last {@link #read}. */
  IngestCursor cursor(IngestTotals totals) {
    FileTokens tokens = current;
    Position position =
        tokens == null
            ? null
            : new Position(currentIndex, tokens.recordOffset(), tokens.recordTokens());
    return new IngestCursor(start.settings(), files, position, totals);
  }
}
