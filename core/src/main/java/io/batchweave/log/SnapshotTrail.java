package io.batchweave.log;

import java.util.ArrayDeque;

/**
 * The versions since the newest snapshot that a follower knows of: when the next one is due, and
 * where the segments stood at each. Holds at most as many versions as there are between snapshots.
 */
final class SnapshotTrail {
  private record Mark(long version, int sizeBytes, long nextStep) {}

  private final ArrayDeque<Mark> marks;
  private long newestVersion;
  private long snapshotBytes;

  SnapshotTrail() {
    this.marks = new ArrayDeque<>();
  }

  SnapshotTrail(SnapshotTrail other) {
    this.marks = new ArrayDeque<>(other.marks);
    this.newestVersion = other.newestVersion;
    this.snapshotBytes = other.snapshotBytes;
  }

  /** The fold begins anew at a snapshot. */
  void restart(long version, long lengthBytes) {
    marks.clear();
    newestVersion = version;
    snapshotBytes = lengthBytes;
  }

  void folded(long version, int sizeBytes, long nextStep) {
    marks.add(new Mark(version, sizeBytes, nextStep));
  }

  /**
   * A snapshot is said to exist.
   *
   * @param version of its state
   * @param lengthBytes its length; 0 if unknown: then the last known length counts
   * @return the first step that is not below its unfinished segment's; -1 if this is nothing new
   */
  long exists(long version, long lengthBytes) {
    if (version <= newestVersion) {
      return -1;
    }
    long nextStep = -1;
    while (!marks.isEmpty() && marks.getFirst().version() <= version) {
      nextStep = marks.removeFirst().nextStep();
    }
    newestVersion = version;
    snapshotBytes = lengthBytes > 0 ? lengthBytes : snapshotBytes;
    return nextStep;
  }

  SnapshotPolicy.Standing standing(long headVersion) {
    long bytes = 0;
    for (Mark mark : marks) {
      bytes += mark.sizeBytes();
      if (SnapshotPolicy.outgrown(mark.version() - newestVersion, bytes, snapshotBytes)) {
        return new SnapshotPolicy.Standing(newestVersion, headVersion, mark.version());
      }
    }
    return new SnapshotPolicy.Standing(newestVersion, headVersion, Long.MAX_VALUE);
  }

  long newestVersion() {
    return newestVersion;
  }

  long fingerprint() {
    return Fingerprint.of(marks.size(), newestVersion, snapshotBytes, marks.peekLast());
  }
}
