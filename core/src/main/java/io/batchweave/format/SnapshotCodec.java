package io.batchweave.format;

import io.batchweave.Bytes;
import io.batchweave.format.Envelope.Content;
import io.batchweave.format.SnapshotRecord.GroupEntry;
import io.batchweave.format.SnapshotRecord.PinEntry;
import io.batchweave.format.SnapshotRecord.ProducerEntry;
import io.batchweave.format.SnapshotRecord.SessionEntry;
import io.batchweave.format.SnapshotRecord.SkipEntry;
import io.batchweave.format.sbe.Life;
import io.batchweave.format.sbe.MessageHeaderEncoder;
import io.batchweave.format.sbe.Seal;
import io.batchweave.format.sbe.SnapshotEncoder;
import java.util.List;
import java.util.Map;
import org.agrona.ExpandableArrayBuffer;

/**
 * Snapshot objects. Their bytes are determined by the state: lists are sorted, and a snapshot that
 * is not is neither written nor read.
 */
public final class SnapshotCodec {
  private SnapshotCodec() {}

  /**
   * Encodes; equal records give equal bytes.
   *
   * @param record what to encode
   * @throws io.batchweave.BatchWeaveException CONFIG if it is not sorted or out of a limit
   */
  public static byte[] encode(SnapshotRecord record) {
    Rules.require(SnapshotRules.snapshot(record));
    ExpandableArrayBuffer buffer = new ExpandableArrayBuffer(4096);
    SnapshotEncoder encoder =
        new SnapshotEncoder().wrapAndApplyHeader(buffer, 0, new MessageHeaderEncoder());
    WireId.put(encoder.streamId(), record.streamId());
    encoder.version(record.version());
    WireId.put(encoder.commitId(), record.commitId());
    WireId.put(encoder.runningHash(), record.runningHash());
    encoder
        .nextStep(record.nextStep())
        .horizon(record.horizon())
        .lastSkipVersion(record.lastSkipVersion())
        .seal(record.sealed() ? Seal.SEALED : Seal.OPEN);
    SnapshotEncoder.SkipsEncoder skips = encoder.skipsCount(record.skips().size());
    for (SkipEntry skip : record.skips()) {
      skips.next().from(skip.from()).to(skip.to()).version(skip.version());
    }
    putProducers(encoder, record.producers());
    putGroups(encoder, record.groups());
    SnapshotEncoder.CountersEncoder counters = encoder.countersCount(record.counters().size());
    for (Map.Entry<String, Long> counter : record.counters().entrySet()) {
      counters.next().total(counter.getValue()).counter(counter.getKey());
    }
    byte[] entries = EntriesCodec.encode(record.entries());
    encoder.putEntries(entries, 0, entries.length);
    return Envelope.seal(Content.SNAPSHOT, buffer, encoder.limit());
  }

  private static void putProducers(SnapshotEncoder encoder, List<ProducerEntry> producers) {
    SnapshotEncoder.ProducersEncoder group = encoder.producersCount(producers.size());
    for (ProducerEntry producer : producers) {
      byte[] state = SourceStateCodec.encode(producer.sourceState());
      group
          .next()
          .epoch(producer.epoch())
          .life(producer.life() == SnapshotRecord.Life.RETIRED ? Life.RETIRED : Life.ACTIVE);
      WireId.put(group.incarnation(), producer.incarnation());
      group
          .nextSeq(producer.nextSeq())
          .lastVersion(producer.lastVersion())
          .producer(producer.producer())
          .putSourceState(state, 0, state.length);
    }
  }

  private static void putGroups(SnapshotEncoder encoder, List<GroupEntry> groups) {
    SnapshotEncoder.GroupsEncoder group = encoder.groupsCount(groups.size());
    for (GroupEntry entry : groups) {
      group.next().changed(entry.changed());
      SnapshotEncoder.GroupsEncoder.SessionsEncoder sessions =
          group.sessionsCount(entry.sessions().size());
      for (SessionEntry session : entry.sessions()) {
        sessions
            .next()
            .version(session.version())
            .startStep(session.startStep())
            .lastPin(session.lastPin())
            .sessionId(session.sessionId());
      }
      SnapshotEncoder.GroupsEncoder.PinsEncoder pins = group.pinsCount(entry.pins().size());
      for (PinEntry pin : entry.pins()) {
        pins.next().sessionVersion(pin.sessionVersion()).step(pin.step()).pinId(pin.id());
      }
      group.group(entry.group());
    }
  }

  /**
   * Decodes.
   *
   * @param object the object's name, for messages
   * @param bytes the whole object
   * @throws io.batchweave.BatchWeaveException CORRUPT, TOO_NEW
   */
  public static SnapshotRecord decode(String object, Bytes bytes) {
    return new SnapshotDecoding(Envelope.open(Content.SNAPSHOT, object, bytes)).snapshot();
  }
}
