package io.batchweave.log;

import io.batchweave.format.Limits;
import io.batchweave.format.SegmentRecord;
import io.batchweave.format.TgbEntry;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The finished segments that a follower has at hand: those it folded itself since the last snapshot
 * (they may not exist on the store yet), a few of those it read, and the wishes for more.
 */
final class SegmentShelf {
  private final int cachedSegments;
  private final TreeMap<Long, SegmentRecord> folded;
  private final LinkedHashMap<Long, SegmentRecord> read;
  private final TreeSet<Long> wanted;

  SegmentShelf(int cachedSegments) {
    this.cachedSegments = cachedSegments;
    this.folded = new TreeMap<>();
    this.read = new LinkedHashMap<>();
    this.wanted = new TreeSet<>();
  }

  SegmentShelf(SegmentShelf other) {
    this.cachedSegments = other.cachedSegments;
    this.folded = new TreeMap<>(other.folded);
    this.read = new LinkedHashMap<>(other.read);
    this.wanted = new TreeSet<>(other.wanted);
  }

  static long indexOf(long step) {
    return step / Limits.SEGMENT_STEPS;
  }

  /** An entry at hand; null if its segment is not. */
  @Nullable TgbEntry entry(long step) {
    long index = indexOf(step);
    SegmentRecord segment = folded.get(index);
    if (segment == null) {
      segment = read.remove(index);
      if (segment == null) {
        return null;
      }
      read.put(index, segment); // now the last to go
    }
    return segment.entries().get((int) (step - segment.firstStep()));
  }

  /** An entry that was folded and may not be on the store; null if there is none. */
  @Nullable TgbEntry folded(long step) {
    SegmentRecord segment = folded.get(indexOf(step));
    return segment == null ? null : segment.entries().get((int) (step - segment.firstStep()));
  }

  void addFolded(SegmentRecord segment) {
    folded.put(segment.index(), segment);
    wanted.remove(segment.index());
  }

  void addRead(SegmentRecord segment) {
    wanted.remove(segment.index());
    read.put(segment.index(), segment);
    while (read.size() > cachedSegments) {
      read.remove(read.firstEntry().getKey());
    }
  }

  /** A snapshot holds everything from this index on: the segments below are on the store. */
  void settle(long index) {
    TreeMap<Long, SegmentRecord> settled = new TreeMap<>(folded.headMap(index));
    settled.values().forEach(this::addRead);
    folded.headMap(index).clear();
  }

  /** What the next snapshot needs on the store, by index. */
  List<SegmentRecord> unsettled() {
    return new ArrayList<>(folded.values());
  }

  /** Wishes for a segment; false if it was wished for already. */
  boolean want(long index) {
    if (!wanted.add(index)) {
      return false;
    }
    // A seek far away must not make everything on the way be read.
    while (wanted.size() > cachedSegments) {
      wanted.remove(wanted.first() == index ? wanted.last() : wanted.first());
    }
    return true;
  }

  void unwant(long index) {
    wanted.remove(index);
  }

  Iterable<Long> wanted() {
    return wanted;
  }

  /** The state jumped: what was folded before does not lead up to it any more. */
  void forgetFolded() {
    folded.clear();
  }

  long fingerprint() {
    return Fingerprint.of(folded.keySet(), new ArrayList<>(read.keySet()), wanted);
  }
}
