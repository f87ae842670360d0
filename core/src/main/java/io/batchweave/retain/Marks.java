package io.batchweave.retain;

import io.batchweave.format.DataObject;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.Fingerprint;
import org.agrona.collections.LongHashSet;
import org.jspecify.annotations.Nullable;

/**
 * The data objects that entries at or above the horizon name, as 64-bit hashes: two that share one
 * cost an object that stays, never one that goes. What is retained may be any number, so it is gone
 * over in passes, each over some of the groups that data objects are spread over.
 */
final class Marks {
  private final int passes;
  private final int pass;
  private final LongHashSet hashes;
  private @Nullable DataObject last;

  /**
   * Marks of one pass.
   *
   * @param passes 1, 2, 4, … up to the number of groups
   * @param pass from 0
   */
  Marks(int passes, int pass) {
    this.passes = passes;
    this.pass = pass;
    this.hashes = new LongHashSet();
  }

  Marks(Marks other) {
    this.passes = other.passes;
    this.pass = other.pass;
    this.hashes = new LongHashSet(Math.max(8, other.hashes.size()));
    this.hashes.addAll(other.hashes);
    this.last = other.last;
  }

  /** How many passes so many objects take. */
  static int passes(long retainedSteps, int markedObjects) {
    int passes = 1;
    while (passes < ObjectNames.DATA_GROUPS && retainedSteps / passes > markedObjects) {
      passes *= 2;
    }
    return passes;
  }

  int pass() {
    return pass;
  }

  int passes() {
    return passes;
  }

  /** First group of this pass. */
  int firstGroup() {
    return pass * (ObjectNames.DATA_GROUPS / passes);
  }

  /** The group after the last one of this pass. */
  int endGroup() {
    return (pass + 1) * (ObjectNames.DATA_GROUPS / passes);
  }

  void add(TgbEntry entry) {
    DataObject object = entry.object();
    if (object.equals(last)) {
      return;
    }
    last = object;
    if (passes == 1 || inPass(object)) {
      hashes.add(hash(object));
    }
  }

  boolean contains(DataObject object) {
    return hashes.contains(hash(object));
  }

  private boolean inPass(DataObject object) {
    String key = ObjectNames.data(object);
    int digits = ObjectNames.DATA.length();
    int group = Integer.parseInt(key.substring(digits, digits + 2), 16);
    return firstGroup() <= group && group < endGroup();
  }

  private static long hash(DataObject object) {
    long hash = Fingerprint.of(object.producer(), (long) object.epoch());
    hash = Fingerprint.add(hash, object.firstSeq());
    hash = Fingerprint.add(hash, object.lastSeq());
    return Fingerprint.add(hash, object.random());
  }

  long fingerprint() {
    long hash = Fingerprint.of((long) passes, (long) pass, last);
    long unordered = 0;
    LongHashSet.LongIterator iterator = hashes.iterator();
    while (iterator.hasNext()) {
      unordered += Fingerprint.add(1, iterator.nextValue());
    }
    return Fingerprint.add(hash, unordered);
  }
}
