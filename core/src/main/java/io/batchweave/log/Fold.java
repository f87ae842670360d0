package io.batchweave.log;

import io.batchweave.Bytes;
import io.batchweave.format.Block;
import io.batchweave.format.DataObject;
import io.batchweave.format.Limits;
import io.batchweave.format.ManifestVersion;
import io.batchweave.format.SegmentRecord;
import io.batchweave.format.SourceState;
import io.batchweave.format.TgbEntry;
import io.batchweave.format.VersionHeader;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * {@code state(v) = apply(state(v-1), version v)}: pure, total, deterministic; the one place that
 * decides what a version means. The table of blocks is in the description of this package; every
 * method here is one row of it.
 *
 * <p>Cost: linear in the blocks of the version (a pin also in the pins of its group, a reclaim in
 * what is registered).
 */
public final class Fold {
  private Fold() {}

  /** Whether a block can still take effect. */
  public enum Outlook {
    /** In the next version it would be accepted. */
    ACCEPTABLE,
    /** Not in the next version, but perhaps in a later one. */
    LATER,
    /** Never again: it took effect, or was overtaken for ever. */
    NEVER
  }

  /**
   * Applies the version after {@code state.version()}. Total: whatever the version says, the state
   * after it is defined.
   *
   * @param state changed in place
   * @param version what the object of the next number decodes to
   */
  public static FoldOutcome apply(State state, ManifestVersion version) {
    VersionHeader header = version.header();
    long number = state.version + 1;
    long firstStep = state.nextStep;
    String voidReason = disagreement(state, header);
    List<BlockOutcome> outcomes = new ArrayList<>(version.blocks().size());
    List<SegmentRecord> completed = new ArrayList<>(0);
    for (Block block : version.blocks()) {
      long step = state.nextStep;
      Verdict verdict = voidReason == null ? offer(state, block, completed) : Verdict.VOID_VERSION;
      if (!verdict.accepted()) {
        state.ignored.merge(verdict, 1L, Long::sum);
      }
      boolean produced = verdict.accepted() && block instanceof Block.Produce;
      outcomes.add(new BlockOutcome(block, verdict, produced ? step : -1));
    }
    if (voidReason != null) {
      state.voidVersions++;
    }
    state.version = number;
    state.commitId = header.commitId();
    state.runningHash = chain(state.runningHash, version.digest());
    return new FoldOutcome(
        number, header, voidReason, outcomes, firstStep, state.nextStep, completed);
  }

  /**
   * Says what the fold would decide if the next version held this block, and nothing before it.
   *
   * @param state not changed
   * @param block any block
   */
  public static Verdict accepts(State state, Block block) {
    return switch (block) {
      case Block.Fence b -> judge(state, b);
      case Block.Produce b -> judge(state, b);
      case Block.Retire b -> judge(state, b);
      case Block.OpenSession b -> judge(state, b);
      case Block.EndSession b -> judge(state, b);
      case Block.Pin b -> judge(state, b);
      case Block.OperatorPin b -> judge(state, b);
      case Block.Unpin b -> judge(state, b);
      case Block.Skip b -> judge(state, b);
      case Block.Reclaim b -> judge(state, b);
      case Block.Seal b -> state.sealed ? Verdict.SEALED : Verdict.ACCEPTED;
    };
  }

  /**
   * Applies one block to a draft of the next version, without closing the version: how a committer
   * that packs several blocks finds out which of them go together. The draft is then thrown away.
   *
   * @param draft a {@linkplain State#copy copy}; changed if the block is accepted
   * @param block any block
   */
  public static Verdict offer(State draft, Block block) {
    return offer(draft, block, new ArrayList<>(0));
  }

  /**
   * Whether a block can still take effect. NEVER is for ever: no later version can hold it with
   * effect, so its announcement may go and its owner may be told; whether it took effect is said by
   * the outcomes of the versions alone.
   *
   * @param state not changed
   * @param block any block
   */
  public static Outlook outlook(State state, Block block) {
    Verdict verdict = accepts(state, block);
    if (verdict.accepted()) {
      return Outlook.ACCEPTABLE;
    }
    if (verdict == Verdict.MALFORMED || verdict == Verdict.RETIRED || verdict == Verdict.SEALED) {
      return Outlook.NEVER;
    }
    boolean overtaken =
        switch (block) {
          case Block.Fence b ->
              b.epoch() <= epoch(state, b.producer()) || verdict == Verdict.SAME_INCARNATION;
          case Block.Produce b ->
              b.epoch() < epoch(state, b.producer()) || b.firstSeq() < nextSeq(state, b.producer());
          case Block.Retire b -> b.base() < lastVersion(state, b.producer());
          case Block.OpenSession b ->
              b.base() < state.group(b.group()).changed() || b.startStep() < state.horizon;
          case Block.EndSession b -> b.base() < state.group(b.group()).changed();
          case Block.Pin b -> pinOvertaken(state, b);
          case Block.OperatorPin b ->
              b.base() < state.group(b.group()).changed() || b.step() < state.horizon;
          case Block.Unpin b -> b.base() < state.group(b.group()).changed();
          case Block.Skip b -> b.base() < state.lastSkipVersion || b.from() < state.horizon;
          case Block.Reclaim b -> b.base() < state.horizon;
          case Block.Seal b -> true;
        };
    return overtaken ? Outlook.NEVER : Outlook.LATER;
  }

  /**
   * The running hash after one more version: the first 128 bits of SHA-256 over the hash before and
   * the digest of the version's bytes.
   *
   * @param runningHash of the state before; the stream id before version 1
   * @param digest of the version
   */
  public static UUID chain(UUID runningHash, UUID digest) {
    ByteBuffer input = ByteBuffer.allocate(4 * Long.BYTES);
    input.putLong(runningHash.getMostSignificantBits());
    input.putLong(runningHash.getLeastSignificantBits());
    input.putLong(digest.getMostSignificantBits());
    input.putLong(digest.getLeastSignificantBits());
    try {
      ByteBuffer hash = ByteBuffer.wrap(MessageDigest.getInstance("SHA-256").digest(input.array()));
      return new UUID(hash.getLong(), hash.getLong());
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }

  private static @Nullable String disagreement(State state, VersionHeader header) {
    if (!header.streamId().equals(state.streamId)) {
      return differs("streamId", header.streamId(), state.streamId);
    }
    if (header.version() != state.version + 1) {
      return differs("version", header.version(), state.version + 1);
    }
    if (!header.parentCommitId().equals(state.commitId)) {
      return differs("parentCommitId", header.parentCommitId(), state.commitId);
    }
    if (header.nextStep() != state.nextStep) {
      return differs("nextStep", header.nextStep(), state.nextStep);
    }
    if (header.horizon() != state.horizon) {
      return differs("horizon", header.horizon(), state.horizon);
    }
    if (!header.runningHash().equals(state.runningHash)) {
      return differs("runningHash", header.runningHash(), state.runningHash);
    }
    return null;
  }

  private static String differs(String field, Object header, Object fold) {
    return field + ": header=" + header + " fold=" + fold;
  }

  private static Verdict offer(State state, Block block, List<SegmentRecord> completed) {
    Verdict verdict = accepts(state, block);
    if (!verdict.accepted()) {
      return verdict;
    }
    switch (block) {
      case Block.Fence b -> fence(state, b);
      case Block.Produce b -> produce(state, b, completed);
      case Block.Retire b -> retire(state, b);
      case Block.OpenSession b -> openSession(state, b);
      case Block.EndSession b -> endSession(state, b);
      case Block.Pin b -> pin(state, b);
      case Block.OperatorPin b -> operatorPin(state, b);
      case Block.Unpin b -> unpin(state, b);
      case Block.Skip b -> skip(state, b);
      case Block.Reclaim b -> reclaim(state, b);
      case Block.Seal b -> state.sealed = true;
    }
    return verdict;
  }

  // ---- fence(producer, epoch, incarnation)

  private static Verdict judge(State state, Block.Fence block) {
    if (badName(block.producer())) {
      return Verdict.MALFORMED;
    }
    ProducerState producer = state.producers.get(block.producer());
    if (producer == null) {
      if (block.epoch() != 1) {
        return Verdict.WRONG_EPOCH;
      }
      return state.liveProducers >= Limits.PRODUCERS ? Verdict.OVER_LIMIT : Verdict.ACCEPTED;
    }
    if (producer.retired()) {
      return Verdict.RETIRED;
    }
    if (block.epoch() != producer.epoch() + 1L) {
      return Verdict.WRONG_EPOCH;
    }
    return block.incarnation().equals(producer.incarnation())
        ? Verdict.SAME_INCARNATION
        : Verdict.ACCEPTED;
  }

  private static void fence(State state, Block.Fence block) {
    ProducerState old = state.producers.get(block.producer());
    if (old == null) {
      state.liveProducers++;
    }
    state.producers.put(
        block.producer(),
        new ProducerState(
            block.epoch(),
            block.incarnation(),
            old == null ? ProducerState.FIRST_SEQ : old.nextSeq(),
            old == null ? SourceState.NONE : old.sourceState(),
            state.version + 1,
            false));
  }

  // ---- produce(producer, epoch, firstSeq, entries, sourceState)

  private static Verdict judge(State state, Block.Produce block) {
    if (badName(block.producer()) || !wellFormed(block)) {
      return Verdict.MALFORMED;
    }
    ProducerState producer = state.producers.get(block.producer());
    if (producer == null) {
      return Verdict.UNKNOWN_PRODUCER;
    }
    if (producer.retired()) {
      return Verdict.RETIRED;
    }
    if (block.epoch() != producer.epoch()) {
      return Verdict.WRONG_EPOCH;
    }
    if (block.firstSeq() != producer.nextSeq()) {
      return Verdict.WRONG_SEQ;
    }
    if (state.sealed) {
      return Verdict.SEALED;
    }
    int count = block.entries().size();
    boolean fits =
        producer.nextSeq() <= Long.MAX_VALUE - count
            && state.nextStep <= Long.MAX_VALUE - count
            && sourceStateFits(block.sourceState());
    return fits ? Verdict.ACCEPTED : Verdict.OVER_LIMIT;
  }

  /**
   * Without entries nothing would make a second copy unacceptable. Every object must be one of the
   * block's own epoch whose name covers what it is named for: the collector judges objects by their
   * names, and would have taken any other before this block.
   */
  private static boolean wellFormed(Block.Produce block) {
    long seq = block.firstSeq();
    for (TgbEntry entry : block.entries()) {
      if (entry.seq() != seq || !covers(block, entry.object(), seq)) {
        return false;
      }
      seq++;
    }
    boolean ownState =
        !(block.sourceState() instanceof SourceState.External external)
            || covers(block, external.object(), seq - 1);
    return ownState && seq > block.firstSeq();
  }

  private static boolean covers(Block.Produce block, DataObject object, long seq) {
    return object.producer().equals(block.producer())
        && object.epoch() == block.epoch()
        && object.firstSeq() <= seq
        && seq <= object.lastSeq();
  }

  private static boolean sourceStateFits(SourceState sourceState) {
    return switch (sourceState) {
      case SourceState.Inline(Bytes bytes) -> bytes.length() <= Limits.INLINE_SOURCE_STATE_BYTES;
      case SourceState.External external ->
          external.lengthBytes() >= 0 && external.lengthBytes() <= Limits.SOURCE_STATE_BYTES;
    };
  }

  private static void produce(State state, Block.Produce block, List<SegmentRecord> completed) {
    ProducerState old = state.producers.get(block.producer());
    if (old == null) {
      throw new IllegalStateException("accepted without a producer: " + block.producer());
    }
    for (TgbEntry entry : block.entries()) {
      state.unfinished.add(entry);
      state.nextStep++;
      if (state.unfinished.size() == Limits.SEGMENT_STEPS) {
        long index = state.nextStep / Limits.SEGMENT_STEPS - 1;
        completed.add(new SegmentRecord(state.streamId, index, state.unfinished));
        state.unfinished.clear();
      }
    }
    state.producers.put(
        block.producer(),
        new ProducerState(
            old.epoch(),
            old.incarnation(),
            old.nextSeq() + block.entries().size(),
            block.sourceState(),
            state.version + 1,
            false));
  }

  // ---- retire(producer, base)

  private static Verdict judge(State state, Block.Retire block) {
    if (badName(block.producer())) {
      return Verdict.MALFORMED;
    }
    ProducerState producer = state.producers.get(block.producer());
    if (producer == null) {
      return Verdict.UNKNOWN_PRODUCER;
    }
    if (producer.retired()) {
      return Verdict.RETIRED;
    }
    return isBase(state, block.base(), producer.lastVersion())
        ? Verdict.ACCEPTED
        : Verdict.WRONG_BASE;
  }

  private static void retire(State state, Block.Retire block) {
    state.producers.computeIfPresent(
        block.producer(),
        (id, old) ->
            new ProducerState(
                old.epoch(),
                old.incarnation(),
                old.nextSeq(),
                SourceState.NONE,
                state.version + 1,
                true));
    state.liveProducers--;
  }

  // ---- session(group, sessionId, startStep, supersede, base)

  private static Verdict judge(State state, Block.OpenSession block) {
    if (badName(block.group()) || badName(block.sessionId())) {
      return Verdict.MALFORMED;
    }
    GroupState group = state.group(block.group());
    if (!isBase(state, block.base(), group.changed())) {
      return Verdict.WRONG_BASE;
    }
    if (!inStream(state, block.startStep())) {
      return Verdict.STEP_OUT_OF_RANGE;
    }
    if (group.session() != null && block.takeover() != Block.Takeover.SUPERSEDE) {
      return Verdict.SESSION_LIVE;
    }
    return groupFits(state, block.group()) ? Verdict.ACCEPTED : Verdict.OVER_LIMIT;
  }

  private static void openSession(State state, Block.OpenSession block) {
    long view = state.version + 1;
    SessionState session = new SessionState(block.sessionId(), view, block.startStep(), -1);
    List<PinState> pins = state.group(block.group()).pins();
    state.groups.put(block.group(), new GroupState(view, session, pins));
  }

  // ---- endSession(sessionId, base)

  private static Verdict judge(State state, Block.EndSession block) {
    if (badName(block.group()) || badName(block.sessionId())) {
      return Verdict.MALFORMED;
    }
    GroupState group = state.group(block.group());
    if (!isBase(state, block.base(), group.changed())) {
      return Verdict.WRONG_BASE;
    }
    SessionState session = group.session();
    return session != null && session.sessionId().equals(block.sessionId())
        ? Verdict.ACCEPTED
        : Verdict.NO_SUCH_SESSION;
  }

  private static void endSession(State state, Block.EndSession block) {
    List<PinState> pins = state.group(block.group()).pins();
    state.groups.put(block.group(), new GroupState(state.version + 1, null, pins));
  }

  // ---- pin(group, sessionId, view, id, step, keep)

  private static Verdict judge(State state, Block.Pin block) {
    if (badName(block.group())
        || badName(block.sessionId())
        || badName(block.id())
        || block.keep() < 1) {
      return Verdict.MALFORMED;
    }
    GroupState group = state.group(block.group());
    SessionState session = group.session();
    if (session == null
        || session.view() != block.view()
        || !session.sessionId().equals(block.sessionId())) {
      return Verdict.NO_SUCH_SESSION;
    }
    if (!inStream(state, block.step())) {
      return Verdict.STEP_OUT_OF_RANGE;
    }
    if (block.step() <= session.lastPin()) {
      return Verdict.PIN_NOT_NEWER;
    }
    int others = state.pinCount - group.pins().size();
    return others + pinsAfter(group, block).size() <= Limits.PINS
        ? Verdict.ACCEPTED
        : Verdict.OVER_LIMIT;
  }

  private static boolean pinOvertaken(State state, Block.Pin block) {
    SessionState session = state.group(block.group()).session();
    if (block.view() > state.version) {
      return false;
    }
    if (session == null
        || session.view() != block.view()
        || !session.sessionId().equals(block.sessionId())) {
      return true;
    }
    return block.step() <= session.lastPin() || block.step() < state.horizon;
  }

  private static List<PinState> pinsAfter(GroupState group, Block.Pin block) {
    List<PinState> pins = new ArrayList<>(group.pins());
    pins.add(new PinState(block.id(), block.view(), block.step()));
    pins.sort(null);
    int operators = 0;
    while (operators < pins.size() && pins.get(operators).byOperator()) {
      operators++;
    }
    int evicted = Math.max(0, pins.size() - operators - block.keep());
    pins.subList(operators, operators + evicted).clear();
    return pins;
  }

  private static void pin(State state, Block.Pin block) {
    GroupState group = state.group(block.group());
    SessionState session = group.session();
    if (session == null) {
      throw new IllegalStateException("accepted without a session: " + block);
    }
    List<PinState> pins = pinsAfter(group, block);
    state.pinCount += pins.size() - group.pins().size();
    SessionState pinned =
        new SessionState(session.sessionId(), session.view(), session.startStep(), block.step());
    state.groups.put(block.group(), new GroupState(group.changed(), pinned, pins));
  }

  // ---- operatorPin(group, id, step, base), unpin(group, id, base)

  private static Verdict judge(State state, Block.OperatorPin block) {
    if (badName(block.group()) || badName(block.id())) {
      return Verdict.MALFORMED;
    }
    if (!isBase(state, block.base(), state.group(block.group()).changed())) {
      return Verdict.WRONG_BASE;
    }
    if (!inStream(state, block.step())) {
      return Verdict.STEP_OUT_OF_RANGE;
    }
    return groupFits(state, block.group()) && state.pinCount < Limits.PINS
        ? Verdict.ACCEPTED
        : Verdict.OVER_LIMIT;
  }

  private static void operatorPin(State state, Block.OperatorPin block) {
    GroupState group = state.group(block.group());
    List<PinState> pins = new ArrayList<>(group.pins());
    pins.add(new PinState(block.id(), PinState.OPERATOR, block.step()));
    pins.sort(null);
    state.pinCount++;
    state.groups.put(block.group(), new GroupState(state.version + 1, group.session(), pins));
  }

  private static Verdict judge(State state, Block.Unpin block) {
    if (badName(block.group()) || badName(block.id())) {
      return Verdict.MALFORMED;
    }
    GroupState group = state.group(block.group());
    if (!isBase(state, block.base(), group.changed())) {
      return Verdict.WRONG_BASE;
    }
    return group.pins().stream().anyMatch(pin -> pin.id().equals(block.id()))
        ? Verdict.ACCEPTED
        : Verdict.NO_SUCH_PIN;
  }

  private static void unpin(State state, Block.Unpin block) {
    GroupState group = state.group(block.group());
    List<PinState> pins = new ArrayList<>(group.pins());
    pins.removeIf(pin -> pin.id().equals(block.id()));
    state.pinCount += pins.size() - group.pins().size();
    state.groups.put(block.group(), new GroupState(state.version + 1, group.session(), pins));
  }

  // ---- skip(from, to, base)

  private static Verdict judge(State state, Block.Skip block) {
    if (block.from() >= block.to()) {
      return Verdict.MALFORMED;
    }
    if (!isBase(state, block.base(), state.lastSkipVersion)) {
      return Verdict.WRONG_BASE;
    }
    if (block.from() < state.horizon) {
      return Verdict.STEP_OUT_OF_RANGE;
    }
    return state.skips.size() < Limits.SKIPS ? Verdict.ACCEPTED : Verdict.OVER_LIMIT;
  }

  private static void skip(State state, Block.Skip block) {
    state.lastSkipVersion = state.version + 1;
    state.skips.add(new SkipState(block.from(), block.to(), state.lastSkipVersion));
  }

  // ---- reclaim(step, base)

  private static Verdict judge(State state, Block.Reclaim block) {
    if (block.base() != state.horizon) {
      return Verdict.WRONG_BASE;
    }
    if (block.step() <= state.horizon || block.step() > state.nextStep) {
      return Verdict.STEP_OUT_OF_RANGE;
    }
    long limit = state.protectedStep();
    if (limit == Long.MAX_VALUE) {
      return Verdict.NOTHING_REGISTERED;
    }
    return block.step() <= limit ? Verdict.ACCEPTED : Verdict.STEP_PROTECTED;
  }

  private static void reclaim(State state, Block.Reclaim block) {
    state.horizon = block.step();
    state.skips.removeIf(skip -> skip.to() <= state.horizon);
  }

  // ---- what the rows have in common

  /**
   * A base must be the version of the last change and an earlier version than the one being
   * applied: the second change of one thing within one version would otherwise have a base that its
   * late copy still matches.
   */
  private static boolean isBase(State state, long base, long changed) {
    return base == changed && base <= state.version;
  }

  private static boolean inStream(State state, long step) {
    return state.horizon <= step && step <= state.nextStep;
  }

  private static boolean groupFits(State state, String group) {
    return state.groups.containsKey(group) || state.groups.size() < Limits.GROUPS;
  }

  private static boolean badName(String name) {
    return !Limits.NAME_PATTERN.matcher(name).matches();
  }

  private static int epoch(State state, String producer) {
    ProducerState known = state.producers.get(producer);
    return known == null ? 0 : known.epoch();
  }

  private static long nextSeq(State state, String producer) {
    ProducerState known = state.producers.get(producer);
    return known == null ? ProducerState.FIRST_SEQ : known.nextSeq();
  }

  private static long lastVersion(State state, String producer) {
    ProducerState known = state.producers.get(producer);
    return known == null ? 0 : known.lastVersion();
  }
}
