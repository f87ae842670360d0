package io.batchweave.ingest;

import io.batchweave.ingest.ByteSource.SourceFile;

/** Plain text: every byte a token, then the end of the document. */
final class TextTokens implements FileTokens {
  private final ByteSource source;
  private final SourceFile file;
  private final ContentHash hash;
  private final byte[] chunk;
  private final TokenCounts counts;
  private long offset;
  private int chunkAt;
  private int chunkEnd;
  private boolean ended;

  /** Goes on at an offset; the hash covers what lies before it. */
  TextTokens(
      ByteSource source,
      SourceFile file,
      ContentHash hash,
      long offset,
      byte[] chunk,
      TokenCounts counts) {
    this.source = source;
    this.file = file;
    this.hash = hash;
    this.offset = offset;
    this.chunk = chunk;
    this.counts = counts;
  }

  @Override
  public int next(int[] target, int from, int to) {
    int at = from;
    while (at < to && !ended) {
      if (offset == file.sizeBytes()) {
        target[at++] = ByteTokens.END_OF_DOCUMENT;
        ended = true;
        counts.documents++;
        break;
      }
      if (chunkAt == chunkEnd) {
        fill();
      }
      int length = Math.min(to - at, chunkEnd - chunkAt);
      for (int i = 0; i < length; i++) {
        target[at + i] = chunk[chunkAt + i] & 0xFF;
      }
      hash.update(chunk, chunkAt, length);
      counts.bytes += length;
      chunkAt += length;
      offset += length;
      at += length;
    }
    return at - from;
  }

  private void fill() {
    chunkAt = 0;
    chunkEnd = source.readListed(file, offset, chunk);
  }

  @Override
  public long consumedBytes() {
    return offset;
  }

  @Override
  public long fingerprint() {
    return hash.value();
  }

  @Override
  public long recordOffset() {
    return offset;
  }

  @Override
  public long recordTokens() {
    return 0;
  }

  @Override
  public boolean finished() {
    return ended;
  }
}
