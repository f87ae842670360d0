package io.batchweave.client;

import io.batchweave.Bytes;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * The ids 0 to 9,999 through a shuffle buffer of 1,000 rows, 25 to a batch. Its state is all of
 * random generator, position and buffer: a source that is restored goes on exactly where it was.
 */
final class ShuffledSource {
  private static final long IDS = 10_000;
  private static final int BUFFER_ROWS = 1_000;
  private static final int BATCH_ROWS = 25;

  /** Batches there are. */
  static final int BATCHES = (int) IDS / BATCH_ROWS;

  private final List<Long> buffer = new ArrayList<>();
  private long random = 0x5DEECE66DL;
  private long nextId;

  /** From the beginning if the state is empty. */
  ShuffledSource(Bytes state) {
    if (state.length() > 0) {
      ByteBuffer bytes = state.asByteBuffer();
      random = bytes.getLong();
      nextId = bytes.getLong();
      while (bytes.hasRemaining()) {
        buffer.add(bytes.getLong());
      }
    }
  }

  Bytes state() {
    ByteBuffer bytes = ByteBuffer.allocate(8 * (2 + buffer.size()));
    bytes.putLong(random).putLong(nextId);
    buffer.forEach(bytes::putLong);
    return Bytes.wrap(bytes.array());
  }

  boolean hasNext() {
    return nextId < IDS || !buffer.isEmpty();
  }

  Bytes next() {
    ByteBuffer rows = ByteBuffer.allocate(8 * BATCH_ROWS);
    while (rows.hasRemaining()) {
      while (nextId < IDS && buffer.size() < BUFFER_ROWS) {
        buffer.add(nextId++);
      }
      random = random * 6364136223846793005L + 1442695040888963407L;
      int index = (int) Long.remainderUnsigned(random >>> 20, buffer.size());
      rows.putLong(buffer.set(index, buffer.getLast()));
      buffer.removeLast();
    }
    return Bytes.wrap(rows.array());
  }
}
