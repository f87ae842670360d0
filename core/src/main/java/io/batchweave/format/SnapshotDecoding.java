package io.batchweave.format;

import io.batchweave.format.SnapshotRecord.GroupEntry;
import io.batchweave.format.SnapshotRecord.Life;
import io.batchweave.format.SnapshotRecord.PinEntry;
import io.batchweave.format.SnapshotRecord.ProducerEntry;
import io.batchweave.format.SnapshotRecord.SessionEntry;
import io.batchweave.format.SnapshotRecord.SkipEntry;
import io.batchweave.format.sbe.SnapshotDecoder;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/** Reads one snapshot; the other half of {@link SnapshotCodec}. */
final class SnapshotDecoding {
  private static final int SKIP_BYTES = SnapshotDecoder.SkipsDecoder.sbeBlockLength();
  private static final int PRODUCER_BYTES = SnapshotDecoder.ProducersDecoder.sbeBlockLength();
  private static final int GROUP_BYTES = SnapshotDecoder.GroupsDecoder.sbeBlockLength();
  private static final int SESSION_BYTES =
      SnapshotDecoder.GroupsDecoder.SessionsDecoder.sbeBlockLength();
  private static final int PIN_BYTES = SnapshotDecoder.GroupsDecoder.PinsDecoder.sbeBlockLength();
  private static final int COUNTER_BYTES = SnapshotDecoder.CountersDecoder.sbeBlockLength();

  /** More sessions than one per group can be live only in a later format. */
  private static final int SESSIONS = 64;

  /** Retired producers stay for ever: only live ones are limited in number. */
  private static final int PRODUCERS = 4 << 20;

  private final WireBounds bounds;
  private final SnapshotDecoder decoder = new SnapshotDecoder();

  SnapshotDecoding(WireBounds bounds) {
    this.bounds = bounds;
  }

  SnapshotRecord snapshot() {
    int body =
        bounds.message(
            Envelope.HEADER_BYTES,
            SnapshotDecoder.TEMPLATE_ID,
            SnapshotDecoder.BLOCK_LENGTH,
            SnapshotDecoder.SCHEMA_ID,
            SnapshotDecoder.SCHEMA_VERSION);
    decoder.wrap(
        bounds.buffer(), body, SnapshotDecoder.BLOCK_LENGTH, SnapshotDecoder.SCHEMA_VERSION);
    boolean sealed =
        switch (decoder.sealRaw()) {
          case 0 -> false;
          case 1 -> true;
          default -> throw bounds.corrupt(body, "seal is neither 0 nor 1");
        };
    List<SkipEntry> skips = skips();
    List<ProducerEntry> producers = producers();
    List<GroupEntry> groups = groups();
    SortedMap<String, Long> counters = counters();
    int length = bounds.blob(decoder.limit(), "entries");
    int start = decoder.limit() + 4;
    bounds.requireEnd(start + length);
    SnapshotRecord record =
        new SnapshotRecord(
            WireId.id(decoder.streamId()),
            decoder.version(),
            WireId.id(decoder.commitId()),
            WireId.id(decoder.runningHash()),
            decoder.nextStep(),
            decoder.horizon(),
            sealed,
            decoder.lastSkipVersion(),
            producers,
            groups,
            skips,
            counters,
            EntriesCodec.decode(bounds.part(start, length), start, Limits.SEGMENT_STEPS));
    bounds.accept(body, SnapshotRules.snapshot(record));
    return record;
  }

  private List<SkipEntry> skips() {
    int count = bounds.group(decoder.limit(), SKIP_BYTES, SKIP_BYTES, Limits.SKIPS, "skips");
    List<SkipEntry> skips = new ArrayList<>(count);
    SnapshotDecoder.SkipsDecoder group = decoder.skips();
    for (int i = 0; i < count; i++) {
      group.next();
      skips.add(new SkipEntry(group.from(), group.to(), group.version()));
    }
    return skips;
  }

  private List<ProducerEntry> producers() {
    int count =
        bounds.group(decoder.limit(), PRODUCER_BYTES, PRODUCER_BYTES + 18, PRODUCERS, "producers");
    List<ProducerEntry> producers = new ArrayList<>(count);
    SnapshotDecoder.ProducersDecoder group = decoder.producers();
    for (int i = 0; i < count; i++) {
      int start = decoder.limit();
      bounds.element(start, PRODUCER_BYTES, "producers");
      group.next();
      Life life =
          switch (group.lifeRaw()) {
            case 0 -> Life.ACTIVE;
            case 1 -> Life.RETIRED;
            default -> throw bounds.corrupt(start, "life is neither 0 nor 1");
          };
      String producer = name("producer");
      int length = bounds.blob(decoder.limit(), "source state");
      int at = decoder.limit() + 4;
      SourceState state = SourceStateCodec.decode(bounds.part(at, length), at);
      decoder.limit(at + length);
      producers.add(
          new ProducerEntry(
              producer,
              group.epoch(),
              WireId.id(group.incarnation()),
              group.nextSeq(),
              state,
              group.lastVersion(),
              life));
    }
    return producers;
  }

  private List<GroupEntry> groups() {
    int count =
        bounds.group(decoder.limit(), GROUP_BYTES, GROUP_BYTES + 14, Limits.GROUPS, "groups");
    List<GroupEntry> groups = new ArrayList<>(count);
    SnapshotDecoder.GroupsDecoder group = decoder.groups();
    for (int i = 0; i < count; i++) {
      bounds.element(decoder.limit(), GROUP_BYTES, "groups");
      group.next();
      long changed = group.changed();
      List<SessionEntry> sessions = sessions(group);
      List<PinEntry> pins = pins(group);
      groups.add(new GroupEntry(name("group"), changed, sessions, pins));
    }
    return groups;
  }

  private List<SessionEntry> sessions(SnapshotDecoder.GroupsDecoder group) {
    int count =
        bounds.group(decoder.limit(), SESSION_BYTES, SESSION_BYTES + 2, SESSIONS, "sessions");
    List<SessionEntry> sessions = new ArrayList<>(count);
    SnapshotDecoder.GroupsDecoder.SessionsDecoder session = group.sessions();
    for (int i = 0; i < count; i++) {
      bounds.element(decoder.limit(), SESSION_BYTES, "sessions");
      session.next();
      sessions.add(
          new SessionEntry(
              name("sessionId"), session.version(), session.startStep(), session.lastPin()));
    }
    return sessions;
  }

  private List<PinEntry> pins(SnapshotDecoder.GroupsDecoder group) {
    int count = bounds.group(decoder.limit(), PIN_BYTES, PIN_BYTES + 2, Limits.PINS, "pins");
    List<PinEntry> pins = new ArrayList<>(count);
    SnapshotDecoder.GroupsDecoder.PinsDecoder pin = group.pins();
    for (int i = 0; i < count; i++) {
      bounds.element(decoder.limit(), PIN_BYTES, "pins");
      pin.next();
      pins.add(new PinEntry(name("id"), pin.sessionVersion(), pin.step()));
    }
    return pins;
  }

  private SortedMap<String, Long> counters() {
    int count =
        bounds.group(
            decoder.limit(), COUNTER_BYTES, COUNTER_BYTES + 2, Limits.COUNTERS, "counters");
    SortedMap<String, Long> counters = new TreeMap<>();
    SnapshotDecoder.CountersDecoder group = decoder.counters();
    String previous = "";
    for (int i = 0; i < count; i++) {
      int start = decoder.limit();
      bounds.element(start, COUNTER_BYTES, "counters");
      group.next();
      long total = group.total();
      String counter = name("counter");
      if (counter.compareTo(previous) <= 0) {
        throw bounds.corrupt(start, "counters are not sorted: " + counter + " after " + previous);
      }
      counters.put(counter, total);
      previous = counter;
    }
    return counters;
  }

  private String name(String what) {
    String name = bounds.name(decoder.limit(), what);
    decoder.limit(WireBounds.afterName(decoder.limit(), name));
    return name;
  }
}
