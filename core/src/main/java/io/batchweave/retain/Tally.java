package io.batchweave.retain;

import io.batchweave.format.ObjectNames;
import io.batchweave.retain.CollectReport.Amount;
import io.batchweave.store.ListedObject;

/** Counts what a run comes to. */
final class Tally {
  long movedSteps;
  long failedKeys;
  long requests;
  Amount kept = Amount.NONE;
  Amount unknown = Amount.NONE;
  private Amount data = Amount.NONE;
  private Amount sourceStates = Amount.NONE;
  private long segments;
  private long announcements;

  Tally() {}

  Tally(Tally other) {
    this.movedSteps = other.movedSteps;
    this.failedKeys = other.failedKeys;
    this.requests = other.requests;
    this.kept = other.kept;
    this.unknown = other.unknown;
    this.data = other.data;
    this.sourceStates = other.sourceStates;
    this.segments = other.segments;
    this.announcements = other.announcements;
  }

  /** What stays is counted anew by every look at all of it. */
  void forgetKept() {
    kept = Amount.NONE;
    unknown = Amount.NONE;
  }

  void deleted(ListedObject object) {
    if (object.key().startsWith(ObjectNames.SEGMENTS)) {
      segments++;
    } else if (object.key().startsWith(ObjectNames.ANNOUNCEMENTS)) {
      announcements++;
    } else if (ObjectNames.parseData(object.key()) != null) {
      data = data.plus(1, object.sizeBytes());
    } else {
      sourceStates = sourceStates.plus(1, object.sizeBytes());
    }
  }

  CollectReport report(
      long version, long horizon, long nextStep, long tombstones, long couriersRequests) {
    return new CollectReport(
        version,
        horizon,
        nextStep,
        movedSteps,
        data,
        sourceStates,
        kept,
        unknown,
        segments,
        announcements,
        tombstones,
        failedKeys,
        requests + couriersRequests);
  }
}
