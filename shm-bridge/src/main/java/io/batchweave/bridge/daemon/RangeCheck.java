package io.batchweave.bridge.daemon;

import io.batchweave.bridge.memory.Crc32c;
import io.batchweave.bridge.memory.MappedChecksum;
import io.batchweave.read.SlicePlan;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Compares the slices of one range with the manifest's checksums while they arrive: behind the
 * request that writes them, what lies in the ring is read back through the mapping, in pieces,
 * while it is still in the cache: by other threads while there is more to write, and by the one
 * that wrote the end as well.
 *
 * <p>The verdict is given when the request has come to rest and every piece was read. Pieces that
 * do not fit are read again then, all of them, before the bytes are called wrong: only what lies
 * there at rest counts. One attempt of one request; thread-safe.
 */
final class RangeCheck {
  private static final int MOST_READERS = 2;
  private static final int MOST_PIECES = 32;
  private static final long PIECE_BYTES = 1 << 20;

  /** So few bytes are read at once by whoever wrote them: another thread would only wake up. */
  private static final long READ_AT_ONCE_BYTES = 1 << 20;

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
  private final int piecesPerSlice;
  private final int[] checksums;
  private final AtomicInteger claimed = new AtomicInteger();
  private final AtomicInteger read = new AtomicInteger();
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
    long longest = 1;
    for (SlicePlan.PlannedSlice slice : slices) {
      longest = Math.max(longest, slice.entry().lengthBytes());
    }
    long wanted = (longest + PIECE_BYTES - 1) / PIECE_BYTES;
    this.piecesPerSlice =
        (int) Math.max(1, Math.min(wanted, MOST_PIECES / Math.max(1, slices.size())));
    this.checksums = new int[slices.size() * piecesPerSlice];
  }

  /** The first bytes of the range are in place. By the thread that wrote them. */
  void onWritten(long bytes) {
    writtenBytes = bytes;
    readOn();
  }

  /** The request has written all and come to rest. */
  void onAtRest() {
    writtenBytes = lengthBytes;
    atRest = true;
    readOn();
    tellIfDone();
  }

  private void readOn() {
    int next = claimed.get();
    if (!isWritten(next)) {
      return;
    }
    long unread = writtenBytes - start(next);
    boolean last = lengthBytes - writtenBytes <= READ_AT_ONCE_BYTES;
    if (unread > READ_AT_ONCE_BYTES) {
      wakeReaders(last ? MOST_READERS - 1 : MOST_READERS);
    }
    // Whoever wrote the end has nothing left to write; before that, writing comes first.
    if (last || unread <= READ_AT_ONCE_BYTES) {
      readers.incrementAndGet();
      readPieces();
    }
  }

  /** Wakes so many at most, once each: one that finds all taken is not replaced. */
  private void wakeReaders(int most) {
    int left = most;
    while (left > 0 && isWritten(claimed.get())) {
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
      for (int piece = claim(); piece >= 0; piece = claim()) {
        read(piece);
      }
      readers.decrementAndGet();
      // What was written since the last look has nobody to read it, unless somebody saw us leave.
    } while (isWritten(claimed.get()) && readers.compareAndSet(0, 1));
    tellIfDone();
  }

  private int claim() {
    for (int next = claimed.get(); isWritten(next); next = claimed.get()) {
      if (claimed.compareAndSet(next, next + 1)) {
        return next;
      }
    }
    return -1;
  }

  private boolean isWritten(int piece) {
    return piece < checksums.length && start(piece) + length(piece) <= writtenBytes;
  }

  private SlicePlan.PlannedSlice slice(int piece) {
    return slices.get(piece / piecesPerSlice);
  }

  private long startInSlice(int piece) {
    long sliceBytes = slice(piece).entry().lengthBytes();
    long each = (sliceBytes + piecesPerSlice - 1) / piecesPerSlice;
    return Math.min(sliceBytes, piece % piecesPerSlice * each);
  }

  /** First byte of a piece, from the start of the range. */
  private long start(int piece) {
    return slice(piece).offsetInRange() + startInSlice(piece);
  }

  private long length(int piece) {
    long sliceBytes = slice(piece).entry().lengthBytes();
    boolean last = piece % piecesPerSlice == piecesPerSlice - 1;
    return (last ? sliceBytes : startInSlice(piece + 1)) - startInSlice(piece);
  }

  private void read(int piece) {
    try {
      checksums[piece] = crc32c(threads.checksum(), start(piece), length(piece));
    } catch (RuntimeException | InternalError thrown) {
      // An InternalError is how a mapping says that its file was cut short.
      unreadable = thrown;
    }
    read.incrementAndGet();
  }

  private int crc32c(MappedChecksum checksum, long start, long length) {
    return checksum.crc32c(target.mapping().segment(), position + start, length);
  }

  private void tellIfDone() {
    if (atRest && read.get() == checksums.length && told.compareAndSet(false, true)) {
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
      int first = i * piecesPerSlice;
      int crc = checksums[first];
      for (int piece = first + 1; piece < first + piecesPerSlice; piece++) {
        crc = Crc32c.concatenate(crc, checksums[piece], length(piece));
      }
      if (crc != slices.get(i).entry().crc32c()) {
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
