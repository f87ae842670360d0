package io.batchweave.bridge.daemon;

import io.batchweave.bridge.memory.Crc32c;
import io.batchweave.bridge.memory.MappedChecksum;
import io.batchweave.read.SlicePlan;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Compares the slices of one range with the manifest's checksums while they arrive. Bytes that the
 * store lends are put into the ring and summed up on the way, by the thread that brings them. Where
 * the store writes them itself, what lies in the ring is read back through the mapping behind it,
 * in pieces, by other threads, as far as it is written; whoever says that the request has come to
 * rest helps with what is left then; whoever writes is not held up, for nothing comes to rest
 * before it goes on.
 *
 * <p>The checksum of a slice that is read back is put together from those of its pieces, which end
 * anywhere and come in any order. The verdict is given when the request has come to rest and every
 * byte was summed up. If a slice does not fit, all are read again before the bytes are called
 * wrong: only what lies there at rest counts. One attempt of one request; thread-safe.
 */
final class RangeCheck {
  private static final int MOST_READERS = 2;
  private static final long PIECE_BYTES = 1 << 20;

  /** So few bytes are read at once by whoever wrote them: another thread would only wake up. */
  private static final long READ_AT_ONCE_BYTES = 1 << 20;

  /** Of lent bytes: what was read to be put in its place is read again from the nearest cache. */
  private static final int LENT_PIECE_BYTES = 64 << 10;

  /** Told once, on some thread, what came of it. */
  interface Listener {
    /** Every byte was read after it was written; {@code wrong} says what is, or is empty. */
    void onChecked(String wrong);

    /** The mapping cannot be read. */
    void onUnreadable(Throwable thrown);
  }

  private final List<SlicePlan.PlannedSlice> slices;
  private final long lengthBytes;
  private final RegionFetch.Target target;
  private final long position;
  private final CheckingThreads threads;
  private final Listener listener;
  private final long slicesBytes;

  /** Of each slice: those of its pieces that were read, put together. */
  private final AtomicIntegerArray checksums;

  /** Up to where in the range everything was read or is being read. */
  private final AtomicLong claimedBytes = new AtomicLong();

  /** Bytes of slices that were read. */
  private final AtomicLong readBytes = new AtomicLong();

  /** Of the slice that is being summed up from lent bytes. */
  private final CRC32C running = new CRC32C();

  private int summing;

  private final AtomicInteger readers = new AtomicInteger();
  private final AtomicBoolean told = new AtomicBoolean();
  private volatile long writtenBytes;
  private volatile boolean atRest;
  private volatile @Nullable Throwable unreadable;

  /**
   * Creates one.
   *
   * @param part the range and where it goes in the region
   * @param target the region
   * @param threads read what the writer does not
   * @param listener told the end
   */
  RangeCheck(
      RegionPlan.Part part, RegionFetch.Target target, CheckingThreads threads, Listener listener) {
    this.slices = part.range().slices();
    this.lengthBytes = part.range().bytes().lengthBytes();
    this.target = target;
    this.position = target.position() + part.offset();
    this.threads = threads;
    this.listener = listener;
    long bytes = 0;
    for (SlicePlan.PlannedSlice slice : slices) {
      bytes += slice.entry().lengthBytes();
    }
    this.slicesBytes = bytes;
    this.checksums = new AtomicIntegerArray(slices.size());
  }

  /**
   * The next bytes of the range, in memory of somebody else's: puts them in their place and sums
   * them up while they lie in the cache. By the thread that brings them, all of the range or none.
   *
   * @param offset where they begin in the range
   * @param bytes those from its position to its limit
   * @throws IllegalStateException if they do not follow those before, or go past the range
   * @throws InternalError when the ring's file was cut short
   */
  void onBytes(long offset, ByteBuffer bytes) {
    if (offset != claimedBytes.get() || bytes.remaining() > lengthBytes - offset) {
      throw new IllegalStateException(
          "bytes out of place: offset="
              + offset
              + " length="
              + bytes.remaining()
              + " before="
              + claimedBytes
              + " lengthBytes="
              + lengthBytes);
    }
    MemorySegment memory = MemorySegment.ofBuffer(bytes);
    MemorySegment ring = target.mapping().segment();
    int first = bytes.position();
    int end = bytes.limit();
    for (int at = first; at < end; at += LENT_PIECE_BYTES) {
      int length = Math.min(LENT_PIECE_BYTES, end - at);
      long from = offset + (at - first);
      MemorySegment.copy(memory, at - first, ring, position + from, length);
      sumUp(bytes.limit(at + length).position(at), from);
    }
    claimedBytes.set(offset + (end - first));
  }

  /** Adds bytes that follow those before to the slices that they belong to. */
  private void sumUp(ByteBuffer bytes, long from) {
    int first = bytes.position();
    long end = from + bytes.remaining();
    while (summing < slices.size() && start(summing) < end) {
      long sliceFrom = Math.max(from, start(summing));
      long sliceEnd = Math.min(end, end(summing));
      running.update(
          bytes.limit(first + (int) (sliceEnd - from)).position(first + (int) (sliceFrom - from)));
      readBytes.addAndGet(sliceEnd - sliceFrom);
      if (sliceEnd < end(summing)) {
        return;
      }
      checksums.set(summing++, (int) running.getValue());
      running.reset();
    }
  }

  /** The first bytes of the range are in place. By the thread that wrote them. */
  void onWritten(long bytes) {
    writtenBytes = bytes;
    if (unreadBytes() > READ_AT_ONCE_BYTES) {
      wakeReaders(MOST_READERS);
    } else {
      readHere();
    }
  }

  /** The request has written all and come to rest. */
  void onAtRest() {
    writtenBytes = lengthBytes;
    atRest = true;
    if (unreadBytes() > READ_AT_ONCE_BYTES) {
      wakeReaders(MOST_READERS - 1);
    }
    readHere();
  }

  private long unreadBytes() {
    return writtenBytes - claimedBytes.get();
  }

  private void readHere() {
    readers.incrementAndGet();
    readPieces();
  }

  /** Wakes so many at most, once each: one that finds all taken is not replaced. */
  private void wakeReaders(int most) {
    int left = most;
    while (left > 0 && isNextWritten()) {
      int running = readers.get();
      if (running >= most) {
        return;
      }
      if (readers.compareAndSet(running, running + 1)) {
        left--;
        if (!threads.execute(this::readPieces)) {
          return; // Closed: nobody asks for the verdict any more.
        }
      }
    }
  }

  private void readPieces() {
    do {
      while (readNext()) {
        // Until nothing is left that is written and not claimed.
      }
      readers.decrementAndGet();
      // What was written since the last look has nobody to read it, unless somebody saw us leave.
    } while (isNextWritten() && readers.compareAndSet(0, 1));
    tellIfDone();
  }

  /** Reads the next piece; says whether there was one. */
  private boolean readNext() {
    while (true) {
      long from = claimedBytes.get();
      long end = pieceEnd(from);
      if (end == from) {
        return false;
      }
      if (claimedBytes.compareAndSet(from, end)) {
        int slice = sliceBehind(from);
        read(slice, Math.max(from, start(slice)), end);
        return true;
      }
    }
  }

  private boolean isNextWritten() {
    long from = claimedBytes.get();
    return pieceEnd(from) > from;
  }

  /** Where the piece ends that is next, as far as it is written; {@code from} if nothing is. */
  private long pieceEnd(long from) {
    int slice = sliceBehind(from);
    if (slice == slices.size()) {
      return from;
    }
    long start = Math.max(from, start(slice));
    long end = Math.min(Math.min(start + PIECE_BYTES, end(slice)), writtenBytes);
    return end < start ? from : end;
  }

  /** The first slice that ends behind a position in the range; they lie there in order. */
  private int sliceBehind(long position) {
    int low = 0;
    int high = slices.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (end(middle) > position) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  private long start(int slice) {
    return slices.get(slice).offsetInRange();
  }

  private long end(int slice) {
    return start(slice) + slices.get(slice).entry().lengthBytes();
  }

  private void read(int slice, long start, long end) {
    try {
      int crc = crc32c(threads.checksum(), start, end - start);
      checksums.getAndAccumulate(slice, Crc32c.shift(crc, end(slice) - end), (a, b) -> a ^ b);
    } catch (RuntimeException | InternalError thrown) {
      // An InternalError is how a mapping says that its file was cut short.
      unreadable = thrown;
    }
    readBytes.addAndGet(end - start);
  }

  private int crc32c(MappedChecksum checksum, long start, long length) {
    return checksum.crc32c(target.mapping().segment(), position + start, length);
  }

  private void tellIfDone() {
    if (atRest && readBytes.get() == slicesBytes && told.compareAndSet(false, true)) {
      Throwable thrown = unreadable;
      if (thrown != null) {
        listener.onUnreadable(thrown);
      } else if (fits()) {
        listener.onChecked("");
      } else {
        boolean _ = threads.execute(this::readAgain);
      }
    }
  }

  private boolean fits() {
    for (int i = 0; i < slices.size(); i++) {
      if (checksums.get(i) != slices.get(i).entry().crc32c()) {
        return false;
      }
    }
    return true;
  }

  private void readAgain() {
    String wrong;
    try {
      wrong = firstWrongSlice();
    } catch (RuntimeException | InternalError thrown) {
      listener.onUnreadable(thrown);
      return;
    }
    listener.onChecked(wrong);
  }

  /** Reads all of what lies there, on this thread; empty if it is what the manifest says. */
  String firstWrongSlice() {
    for (SlicePlan.PlannedSlice slice : slices) {
      int found = crc32c(threads.checksum(), slice.offsetInRange(), slice.entry().lengthBytes());
      if (found != slice.entry().crc32c()) {
        return "slice dp="
            + slice.dp()
            + " cp="
            + slice.cp()
            + " crc32c="
            + Integer.toHexString(found)
            + " expected="
            + Integer.toHexString(slice.entry().crc32c());
      }
    }
    return "";
  }
}
