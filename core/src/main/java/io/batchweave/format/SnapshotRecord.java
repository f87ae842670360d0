package io.batchweave.format;

import java.util.Collections;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;

/**
 * Everything in the folded state at one version, as a tree of values. Equal states give equal
 * records, and equal records equal bytes: the lists are sorted as their comments say and the codec
 * refuses any other order, both ways.
 *
 * @param streamId the stream's id
 * @param version of the state; 0 is the empty log
 * @param commitId of that version; the stream id at version 0
 * @param runningHash chained over the digests of all versions up to this one
 * @param nextStep the step that the next accepted entry takes
 * @param horizon first step not yet reclaimed
 * @param sealed whether the stream ended at {@code nextStep}
 * @param lastSkipVersion version of the last accepted skip, 0 if none: the base of the next one
 * @param producers by id
 * @param groups by name
 * @param skips by version, then {@code from}
 * @param counters by name: ignored blocks per reason, void versions and the like; at most 64 names,
 *     each a {@linkplain Limits#NAME_PATTERN name part}
 * @param entries of the unfinished segment: the steps from {@code nextStep / 256 * 256} up to
 *     {@code nextStep}, exclusive
 */
public record SnapshotRecord(
    UUID streamId,
    long version,
    UUID commitId,
    UUID runningHash,
    long nextStep,
    long horizon,
    boolean sealed,
    long lastSkipVersion,
    List<ProducerEntry> producers,
    List<GroupEntry> groups,
    List<SkipEntry> skips,
    SortedMap<String, Long> counters,
    List<TgbEntry> entries) {

  /** Copies the collections. */
  public SnapshotRecord {
    producers = List.copyOf(producers);
    groups = List.copyOf(groups);
    skips = List.copyOf(skips);
    counters = Collections.unmodifiableSortedMap(new TreeMap<>(counters));
    entries = List.copyOf(entries);
  }

  /** Whether a producer may still go on. */
  public enum Life {
    /** It may be fenced and may produce. */
    ACTIVE,
    /** Final: its source state is dropped and it is never fenced again. */
    RETIRED
  }

  /**
   * One producer.
   *
   * @param producer its id
   * @param epoch its current epoch, from 1
   * @param incarnation who owns that epoch
   * @param nextSeq seq of its next TGB
   * @param sourceState after its last accepted TGB; {@link SourceState#NONE} when retired
   * @param lastVersion version of its last accepted block: the base of its retirement
   * @param life whether it is retired
   */
  public record ProducerEntry(
      String producer,
      int epoch,
      UUID incarnation,
      long nextSeq,
      SourceState sourceState,
      long lastVersion,
      Life life) {}

  /**
   * One group.
   *
   * @param group its name
   * @param changed version of its last change: the base of the next one
   * @param sessions that are live, by version
   * @param pins by version of their session, then step, then id
   */
  public record GroupEntry(
      String group, long changed, List<SessionEntry> sessions, List<PinEntry> pins) {
    /** Copies the lists. */
    public GroupEntry {
      sessions = List.copyOf(sessions);
      pins = List.copyOf(pins);
    }
  }

  /**
   * One live session.
   *
   * @param sessionId its id
   * @param version that registered it: its view
   * @param startStep where it began
   * @param lastPin step of its last pin; -1 if none
   */
  public record SessionEntry(String sessionId, long version, long startStep, long lastPin) {}

  /**
   * One registered checkpoint.
   *
   * @param id its id
   * @param sessionVersion version of the session that pinned it; 0 for an operator's pin, which
   *     neither evicts nor is evicted
   * @param step the next step to read after loading it: it and all later ones are protected
   */
  public record PinEntry(String id, long sessionVersion, long step) {}

  /**
   * Steps passed over.
   *
   * @param from first step
   * @param to exclusive
   * @param version that said so: sessions with this view or a later one pass over them
   */
  public record SkipEntry(long from, long to, long version) {}
}
