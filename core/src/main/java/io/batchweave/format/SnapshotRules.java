package io.batchweave.format;

import io.batchweave.format.SnapshotRecord.GroupEntry;
import io.batchweave.format.SnapshotRecord.Life;
import io.batchweave.format.SnapshotRecord.PinEntry;
import io.batchweave.format.SnapshotRecord.ProducerEntry;
import io.batchweave.format.SnapshotRecord.SessionEntry;
import io.batchweave.format.SnapshotRecord.SkipEntry;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a snapshot must satisfy; as {@link Rules}. Sorted lists make its bytes deterministic. */
final class SnapshotRules {
  private static final Comparator<SkipEntry> SKIPS =
      Comparator.comparingLong(SkipEntry::version).thenComparingLong(SkipEntry::from);
  private static final Comparator<PinEntry> PINS =
      Comparator.comparingLong(PinEntry::sessionVersion)
          .thenComparingLong(PinEntry::step)
          .thenComparing(PinEntry::id);

  private SnapshotRules() {}

  static @Nullable String snapshot(SnapshotRecord snapshot) {
    return Rules.first(
        Rules.notNegative("version", snapshot.version()),
        Rules.notNegative("horizon", snapshot.horizon()),
        Rules.notNegative("nextStep", snapshot.nextStep()),
        Rules.notNegative("lastSkipVersion", snapshot.lastSkipVersion()),
        steps(snapshot),
        producers(snapshot.producers()),
        groups(snapshot.groups()),
        skips(snapshot.skips()),
        counters(snapshot.counters()),
        Rules.entries(snapshot.entries()));
  }

  private static @Nullable String steps(SnapshotRecord snapshot) {
    if (snapshot.horizon() > snapshot.nextStep()) {
      return "horizon beyond the next step: horizon="
          + snapshot.horizon()
          + " nextStep="
          + snapshot.nextStep();
    }
    long expected = snapshot.nextStep() % Limits.SEGMENT_STEPS;
    return snapshot.entries().size() == expected
        ? null
        : "entries of the unfinished segment: entries="
            + snapshot.entries().size()
            + " expected="
            + expected;
  }

  private static @Nullable String producers(List<ProducerEntry> producers) {
    String previous = "";
    for (ProducerEntry producer : producers) {
      String problem =
          Rules.first(
              Rules.name("producer", producer.producer()),
              sorted("producers", previous, producer.producer()),
              Rules.positive("epoch", producer.epoch()),
              Rules.notNegative("nextSeq", producer.nextSeq()),
              Rules.notNegative("lastVersion", producer.lastVersion()),
              Rules.sourceState(producer.sourceState()),
              producer.life() == Life.RETIRED && !producer.sourceState().equals(SourceState.NONE)
                  ? "a retired producer has no source state: producer=" + producer.producer()
                  : null);
      if (problem != null) {
        return problem;
      }
      previous = producer.producer();
    }
    return null;
  }

  private static @Nullable String groups(List<GroupEntry> groups) {
    if (groups.size() > Limits.GROUPS) {
      return "too many groups: groups=" + groups.size();
    }
    String previous = "";
    for (GroupEntry group : groups) {
      String problem =
          Rules.first(
              Rules.name("group", group.group()),
              sorted("groups", previous, group.group()),
              Rules.notNegative("changed", group.changed()),
              sessions(group.sessions()),
              pins(group.pins()));
      if (problem != null) {
        return problem;
      }
      previous = group.group();
    }
    return null;
  }

  private static @Nullable String sessions(List<SessionEntry> sessions) {
    long previous = -1;
    for (SessionEntry session : sessions) {
      String problem =
          Rules.first(
              Rules.name("sessionId", session.sessionId()),
              Rules.notNegative("version", session.version()),
              Rules.notNegative("startStep", session.startStep()),
              session.lastPin() < -1 ? "impossible last pin: step=" + session.lastPin() : null,
              session.version() <= previous ? "sessions are not sorted by version" : null);
      if (problem != null) {
        return problem;
      }
      previous = session.version();
    }
    return null;
  }

  private static @Nullable String pins(List<PinEntry> pins) {
    if (pins.size() > Limits.PINS) {
      return "too many pins: pins=" + pins.size();
    }
    PinEntry previous = null;
    for (PinEntry pin : pins) {
      String problem =
          Rules.first(
              Rules.name("id", pin.id()),
              Rules.notNegative("sessionVersion", pin.sessionVersion()),
              Rules.notNegative("step", pin.step()),
              previous != null && PINS.compare(previous, pin) >= 0 ? "pins are not sorted" : null);
      if (problem != null) {
        return problem;
      }
      previous = pin;
    }
    return null;
  }

  private static @Nullable String skips(List<SkipEntry> skips) {
    if (skips.size() > Limits.SKIPS) {
      return "too many skips: skips=" + skips.size();
    }
    SkipEntry previous = null;
    for (SkipEntry skip : skips) {
      String problem =
          Rules.first(
              Rules.notNegative("from", skip.from()),
              Rules.notNegative("version", skip.version()),
              skip.to() <= skip.from() ? "empty skip: from=" + skip.from() : null,
              previous != null && SKIPS.compare(previous, skip) >= 0
                  ? "skips are not sorted"
                  : null);
      if (problem != null) {
        return problem;
      }
      previous = skip;
    }
    return null;
  }

  private static @Nullable String counters(Map<String, Long> counters) {
    if (counters.size() > Limits.COUNTERS) {
      return "too many counters: counters=" + counters.size();
    }
    String previous = "";
    for (Map.Entry<String, Long> counter : counters.entrySet()) {
      String problem =
          Rules.first(
              Rules.name("counter", counter.getKey()),
              sorted("counters", previous, counter.getKey()),
              Rules.notNegative(counter.getKey(), counter.getValue()));
      if (problem != null) {
        return problem;
      }
      previous = counter.getKey();
    }
    return null;
  }

  private static @Nullable String sorted(String what, String previous, String next) {
    return previous.compareTo(next) < 0
        ? null
        : what + " are not sorted: " + next + " after " + previous;
  }
}
