package io.batchweave.verify;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Grid;
import io.batchweave.format.Limits;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SliceEntry;
import io.batchweave.format.SourceState;
import io.batchweave.format.TgbEntry;
import io.batchweave.format.TgbFooter;
import io.batchweave.format.TgbLayout;
import io.batchweave.store.ByteRange;
import io.batchweave.store.ListedObject;
import io.batchweave.store.ObjectInfo;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.StoreException;
import io.batchweave.store.StoreFailure;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.zip.CRC32C;
import org.agrona.collections.LongHashSet;
import org.jspecify.annotations.Nullable;

/**
 * Looks at data objects on a few threads. One thread submits; it is held back while too much is
 * under way. The first failure that is no finding ends everything at the next call.
 */
final class DataAudit implements AutoCloseable {
  private static final int THREADS = 16;
  private static final int QUEUED = 64;
  private static final int CHUNK_BYTES = 4 << 20;
  private static final int REMEMBERED_OBJECTS = 256;

  private final ObjectStore store;
  private final Grid grid;
  private final Depth depth;
  private final Findings findings;
  private final ExecutorService threads = Executors.newFixedThreadPool(THREADS, DataAudit::daemon);
  private final Semaphore room = new Semaphore(QUEUED);
  private final AtomicReference<@Nullable RuntimeException> failure = new AtomicReference<>();
  private final LongHashSet named = new LongHashSet();
  private final Map<String, Boolean> recent = new LinkedHashMap<>();
  private final AtomicLong objects = new AtomicLong();
  private final AtomicLong bytes = new AtomicLong();
  private long orphans;
  private long orphanBytes;

  DataAudit(ObjectStore store, Grid grid, Depth depth, Findings findings) {
    this.store = store;
    this.grid = grid;
    this.depth = depth;
    this.findings = findings;
  }

  private static Thread daemon(Runnable task) {
    Thread thread = new Thread(task, "batchweave-verify");
    thread.setDaemon(true);
    return thread;
  }

  long objects() {
    return objects.get();
  }

  long bytes() {
    return bytes.get();
  }

  long orphans() {
    return orphans;
  }

  long orphanBytes() {
    return orphanBytes;
  }

  /** A step that must be readable. */
  void step(long step, TgbEntry entry) {
    String key = ObjectNames.data(entry.object());
    named.add(hash(key));
    // The last TGB of an object tells its whole length; of the others one look is enough.
    boolean last = entry.seq() == entry.object().lastSeq();
    boolean known = last ? recent.remove(key) != null : recent.put(key, true) != null;
    if (last || !known) {
      objects.addAndGet(known ? 0 : 1);
      submit(() -> length(step, key, entry, last));
    }
    if (recent.size() > REMEMBERED_OBJECTS) {
      recent.clear();
    }
    if (depth == Depth.BYTES) {
      submit(() -> content(step, key, entry));
    }
  }

  /** A producer's current source state, if it is an object. */
  void source(String producer, SourceState state) {
    if (state instanceof SourceState.External external) {
      String key = ObjectNames.state(external.object());
      named.add(hash(key));
      submit(() -> source(producer, key, external));
    }
  }

  private void submit(Runnable check) {
    try {
      room.acquire();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new BatchWeaveException(Kind.RETRYABLE, "interrupted", e);
    }
    rethrow();
    threads.execute(() -> {
      try {
        check.run();
      } catch (RuntimeException e) {
        failure.compareAndSet(null, e);
      } finally {
        room.release();
      }
    });
  }

  private void rethrow() {
    RuntimeException thrown = failure.get();
    if (thrown != null) {
      throw thrown;
    }
  }

  /** Waits until all that was submitted has been looked at. */
  void finish() {
    room.acquireUninterruptibly(QUEUED);
    room.release(QUEUED);
    rethrow();
  }

  private void length(long step, String key, TgbEntry entry, boolean last) {
    ObjectInfo info = Reads.awaitPresent(store.head(key));
    long end = entry.offset() + entry.lengthBytes();
    if (info == null) {
      findings.addOfStep(step, key, "missing data object");
    } else if (info.sizeBytes() < end || (last && info.sizeBytes() != end)) {
      findings.addOfStep(
          step, key, "wrong length: sizeBytes=" + info.sizeBytes() + " recorded=" + end);
    }
  }

  private void source(String producer, String key, SourceState.External external) {
    ObjectInfo info = Reads.awaitPresent(store.head(key));
    objects.incrementAndGet();
    if (info == null) {
      findings.add(key, "missing source state: producer=" + producer);
    } else if (info.sizeBytes() != external.lengthBytes()) {
      findings.add(
          key,
          "wrong length: sizeBytes="
              + info.sizeBytes()
              + " recorded="
              + external.lengthBytes()
              + " producer="
              + producer);
    } else if (depth == Depth.BYTES) {
      Bytes body = Reads.awaitPresent(store.get(key, null, Limits.SOURCE_STATE_BYTES));
      CRC32C crc = new CRC32C();
      if (body != null) {
        bytes.addAndGet(body.length());
        crc.update(body.asByteBuffer());
      }
      if (body == null || (int) crc.getValue() != external.crc32c()) {
        findings.add(key, "source state has another checksum: producer=" + producer);
      }
    }
  }

  private void content(long step, String key, TgbEntry entry) {
    try {
      TgbFooter footer = footer(key, entry);
      if (!footer.grid().equals(grid)) {
        findings.addOfStep(
            step,
            key,
            "cut for another grid: footer="
                + footer.grid().dp()
                + "x"
                + footer.grid().cp()
                + " stream="
                + grid.dp()
                + "x"
                + grid.cp());
      }
      for (int index = 0; index < footer.slices().size(); index++) {
        slice(step, key, index, footer.slices().get(index));
      }
    } catch (StoreException e) {
      // An object that is missing or short is found by its length; here only once more.
      if (e.failure() != StoreFailure.NOT_FOUND) {
        requireDamage(e);
        findings.addOfStep(step, key, e.detail());
      }
    } catch (BatchWeaveException e) {
      requireDamage(e);
      findings.addOfStep(step, key, e.getMessage());
    }
  }

  /** What says nothing about the object ends the verification. */
  private static void requireDamage(BatchWeaveException e) {
    if (e.kind() != Kind.CORRUPT) {
      throw e;
    }
  }

  private TgbFooter footer(String key, TgbEntry entry) {
    ByteRange range = TgbLayout.footerRange(entry);
    long length = range.lengthBytes() + TgbLayout.TRAILER_BYTES;
    byte[] tail = read(key, range.offset(), length).toByteArray();
    int footerLength = (int) Math.min(tail.length, range.lengthBytes());
    byte[] footer = java.util.Arrays.copyOf(tail, footerLength);
    byte[] trailer = java.util.Arrays.copyOfRange(tail, footerLength, tail.length);
    TgbLayout.Trailer said =
        TgbLayout.decodeTrailer(key, range.offset() + footerLength, Bytes.wrap(trailer));
    if (said.footerLengthBytes() != entry.footerLengthBytes()
        || said.footerCrc32c() != entry.footerCrc32c()) {
      throw new BatchWeaveException(Kind.CORRUPT, "trailer differs from the manifest");
    }
    return TgbLayout.decodeFooter(key, entry, Bytes.wrap(footer));
  }

  private void slice(long step, String key, int index, SliceEntry slice) {
    CRC32C crc = new CRC32C();
    long end = slice.offset() + slice.lengthBytes();
    for (long at = slice.offset(); at < end; ) {
      Bytes chunk = read(key, at, Math.min(CHUNK_BYTES, end - at));
      crc.update(chunk.asByteBuffer());
      at += chunk.length();
    }
    if ((int) crc.getValue() != slice.crc32c()) {
      findings.addOfStep(
          step,
          key,
          String.format(
              "slice %d at offset %d has another checksum: recorded=%08x found=%08x",
              index, slice.offset(), slice.crc32c(), (int) crc.getValue()));
    }
  }

  private Bytes read(String key, long offset, long lengthBytes) {
    Bytes read = Reads.await(store.get(key, new ByteRange(offset, lengthBytes), lengthBytes));
    bytes.addAndGet(read.length());
    if (read.length() != lengthBytes) {
      throw new BatchWeaveException(
          Kind.CORRUPT,
          "ends too early: offset=" + offset + " asked=" + lengthBytes + " found=" + read.length());
    }
    return read;
  }

  /** Counts what nothing names, folder by folder. */
  void countOrphans() {
    for (int number = 0; number < ObjectNames.DATA_GROUPS; number++) {
      String group = ObjectNames.dataGroup(number);
      for (ListedObject object : Reads.await(store.list(group, Integer.MAX_VALUE)).objects()) {
        String key = object.key();
        if (named.contains(hash(key))) {
          continue;
        }
        orphans++;
        orphanBytes += object.sizeBytes();
        if (ObjectNames.parseData(key) == null && ObjectNames.parseState(key) == null) {
          findings.note(key + ": not the name of a data object");
        }
      }
    }
  }

  /** 64 bits of FNV-1a: among a billion names two are alike with a chance of 3 %. */
  private static long hash(String key) {
    long hash = 0xcbf29ce484222325L;
    for (byte b : key.getBytes(StandardCharsets.US_ASCII)) {
      hash = (hash ^ b) * 0x100000001b3L;
    }
    return hash;
  }

  @Override
  public void close() {
    threads.shutdownNow();
    try {
      if (!threads.awaitTermination(1, TimeUnit.MINUTES)) {
        findings.note("some requests did not come back");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
