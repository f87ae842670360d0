package io.batchweave.retain;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.commit.Decision;
import io.batchweave.commit.ProposalMachine;
import io.batchweave.format.Block;
import io.batchweave.format.DataObject;
import io.batchweave.format.Limits;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SegmentCodec;
import io.batchweave.format.SegmentRecord;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.Bits;
import io.batchweave.log.Fingerprint;
import io.batchweave.log.Fold;
import io.batchweave.log.FollowPolicy;
import io.batchweave.log.LogFollower;
import io.batchweave.log.Machine;
import io.batchweave.log.State;
import io.batchweave.log.Verdict;
import io.batchweave.retain.CollectPolicy.Effect;
import io.batchweave.retain.CollectPolicy.Versions;
import io.batchweave.store.ListedObject;
import io.batchweave.store.StoreResponse;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One run of the collector, without I/O: moves the horizon to the lowest step that anybody who is
 * registered may ask for, then deletes what nothing names any more. Any number may run at once, and
 * each may die at any point: what it had not deleted the next one does.
 *
 * <p>It judges by one folded state. What that state lets go no later version can name again, so a
 * slow collector does no harm.
 */
public final class CollectorMachine implements Machine<CollectorMachine> {
  private static final int OWNERS_OF_IDS = 2;
  private static final int PROPOSAL = 0;
  private static final int SELF = 1;
  private static final long IDS_PER_ROUND = 1L << 40;

  /** Registrations may move on as fast as the log: what is found then is gone on with. */
  private static final int MAX_PROPOSALS = 4;

  /** What a run does, in this order. */
  public enum Phase {
    /** Moves the horizon, if something is registered, and learns the head. */
    COMMIT,
    /** Notes which objects the steps at or above the horizon name. */
    MARK,
    /** Lists data objects and source states, and deletes those that may go. */
    SWEEP,
    /** Deletes the segments below the horizon, now that their data is gone. */
    SEGMENTS,
    /** Deletes announcements that nothing depends on any more. */
    ANNOUNCEMENTS,
    /** Overwrites old versions, if asked for and if nobody needs them. */
    TRIM,
    /** All is done. */
    DONE,
    /** Given up: see {@link CollectorMachine#failure}. */
    FAILED
  }

  private final CollectPolicy policy;
  private final Bits bits;
  private final Courier courier;
  private final Tally tally;
  private final ArrayList<ListedObject> doomed;
  private ProposalMachine proposal;
  private long round;
  private int proposed = 1;
  private Phase phase = Phase.COMMIT;
  private @Nullable State state;
  private long horizon;
  private Marks marks = new Marks(1, 0);
  private long nextSegment;
  private boolean surveying;
  private int nextGroup;
  private boolean incomplete;
  private long missingSegment = -1;
  private @Nullable Trimmer trimmer;
  private @Nullable BatchWeaveException failure;

  /**
   * Creates a run; it starts at the first {@link #onTime}.
   *
   * @param policy how it works
   * @param bits ids and spacing: two machines must never share a seed
   */
  public CollectorMachine(CollectPolicy policy, Bits bits) {
    this.policy = policy;
    this.bits = bits;
    this.courier = new Courier(policy, new Bits(bits.nextLong()));
    this.tally = new Tally();
    this.doomed = new ArrayList<>();
    this.proposal = newProposal();
  }

  private CollectorMachine(CollectorMachine other) {
    this.policy = other.policy;
    this.bits = other.bits.copy();
    this.courier = new Courier(other.courier);
    this.tally = new Tally(other.tally);
    this.doomed = new ArrayList<>(other.doomed);
    this.proposal = other.proposal.copy();
    this.round = other.round;
    this.proposed = other.proposed;
    this.phase = other.phase;
    this.state = other.state == null ? null : this.proposal.log().state();
    this.horizon = other.horizon;
    this.marks = new Marks(other.marks);
    this.nextSegment = other.nextSegment;
    this.surveying = other.surveying;
    this.nextGroup = other.nextGroup;
    this.incomplete = other.incomplete;
    this.missingSegment = other.missingSegment;
    this.trimmer = other.trimmer == null ? null : new Trimmer(other.trimmer);
    this.failure = other.failure;
  }

  private ProposalMachine newProposal() {
    return new ProposalMachine(
        policy.effect() == Effect.DRY_RUN ? now -> null : CollectorMachine::reclaim,
        FollowPolicy.DEFAULT,
        new Bits(bits.nextLong()));
  }

  private static @Nullable Block reclaim(State state) {
    long step = reclaimable(state);
    return step > state.horizon() ? new Block.Reclaim(step, state.horizon()) : null;
  }

  /** The step that the horizon may move to: where it is, if nobody says what may go. */
  private static long reclaimable(State state) {
    long step = state.protectedStep();
    return step == Long.MAX_VALUE ? state.horizon() : Math.min(state.nextStep(), step);
  }

  /** What it is doing. */
  public Phase phase() {
    return phase;
  }

  /** Why it has given up; null otherwise. What was deleted until then was rightly deleted. */
  public @Nullable BatchWeaveException failure() {
    return failure;
  }

  /** The last failed request while there is passing trouble, for messages; null otherwise. */
  public @Nullable String trouble() {
    return phase == Phase.COMMIT ? proposal.trouble() : courier.trouble();
  }

  /** What it came to so far. */
  public CollectReport report() {
    State judged = state;
    return judged == null
        ? tally.report(0, 0, 0, 0, courier.requests())
        : tally.report(
            judged.version(),
            horizon,
            judged.nextStep(),
            trimmer == null ? 0 : trimmer.tombstones(),
            courier.requests());
  }

  // ---- the machine

  @Override
  public void onTime(long nowNs, Requests requests) {
    if (phase == Phase.COMMIT) {
      proposal.onTime(nowNs, proposals(requests));
    }
    advance(nowNs, requests);
  }

  @Override
  public void onResponse(long requestId, StoreResponse response, long nowNs, Requests requests) {
    if (phase == Phase.DONE || phase == Phase.FAILED) {
      return;
    }
    long id = requestId / OWNERS_OF_IDS;
    try {
      if (requestId % OWNERS_OF_IDS == SELF) {
        Errand errand = courier.answered(id, response, nowNs);
        if (errand != null) {
          take(errand, response);
        }
      } else if (id / IDS_PER_ROUND == round && phase == Phase.COMMIT) {
        proposal.onResponse(id % IDS_PER_ROUND, response, nowNs, proposals(requests));
      }
    } catch (BatchWeaveException e) {
      fail(e);
    }
    advance(nowNs, requests);
  }

  @Override
  public long wakeAtNs() {
    return switch (phase) {
      case COMMIT -> proposal.wakeAtNs();
      case DONE, FAILED -> Long.MAX_VALUE;
      default -> courier.wakeAtNs();
    };
  }

  private Requests proposals(Requests requests) {
    long firstId = round * IDS_PER_ROUND;
    return (id, request) -> {
      tally.requests++;
      requests.send((firstId + id) * OWNERS_OF_IDS + PROPOSAL, request);
    };
  }

  private void advance(long nowNs, Requests requests) {
    try {
      boolean moved = true;
      while (moved) {
        moved =
            switch (phase) {
              case COMMIT -> commit();
              case MARK -> mark();
              case SWEEP -> sweep();
              case SEGMENTS -> next(Phase.ANNOUNCEMENTS, ObjectNames.ANNOUNCEMENTS);
              case ANNOUNCEMENTS -> next(afterAll(), null);
              case TRIM -> trim();
              case DONE, FAILED -> false;
            };
      }
      if (phase != Phase.COMMIT) {
        courier.pump(nowNs, (id, request) -> requests.send(id * OWNERS_OF_IDS + SELF, request));
      }
    } catch (BatchWeaveException e) {
      fail(e);
    }
  }

  private void fail(BatchWeaveException cause) {
    failure = cause;
    phase = Phase.FAILED;
    courier.forgetAll();
  }

  // ---- the horizon

  private boolean commit() {
    BatchWeaveException refused = proposal.failure();
    if (refused != null) {
      throw refused;
    }
    Decision decision = proposal.decision();
    if (decision == null && !overruled()) {
      return false;
    }
    State judged = proposal.log().state();
    if (decision != null && decision.accepted() && decision.block() instanceof Block.Reclaim b) {
      tally.movedSteps += b.step() - b.base();
    }
    if (policy.effect() == Effect.RECLAIM
        && reclaimable(judged) > judged.horizon()
        && proposed < MAX_PROPOSALS) {
      // A registration moved on between the head that the block was made from and this one.
      proposeAnew();
      return false;
    }
    state = judged;
    horizon = policy.effect() == Effect.DRY_RUN ? reclaimable(judged) : judged.horizon();
    if (policy.effect() == Effect.DRY_RUN) {
      tally.movedSteps = horizon - judged.horizon();
    }
    beginPass(new Marks(Marks.passes(judged.nextStep() - horizon, policy.markedObjects()), 0));
    return true;
  }

  /** Whether somebody registered meanwhile: then the horizon stays for now. */
  private boolean overruled() {
    Block block = proposal.block();
    if (block == null) {
      return false;
    }
    Verdict verdict = Fold.accepts(proposal.log().state(), block);
    return verdict == Verdict.STEP_PROTECTED || verdict == Verdict.NOTHING_REGISTERED;
  }

  private State judged() {
    State judged = state;
    if (judged == null) {
      throw new IllegalStateException("nothing is judged before the head is known");
    }
    return judged;
  }

  // ---- what is named

  private void beginPass(Marks fresh) {
    marks = fresh;
    nextSegment = horizon / Limits.SEGMENT_STEPS;
    phase = Phase.MARK;
  }

  private boolean mark() {
    LogFollower log = proposal.log();
    long nextStep = judged().nextStep();
    while (nextSegment * Limits.SEGMENT_STEPS < nextStep && courier.size() < policy.maxInFlight()) {
      long first = Math.max(horizon, nextSegment * Limits.SEGMENT_STEPS);
      long end = Math.min(nextStep, (nextSegment + 1) * Limits.SEGMENT_STEPS);
      if (first < end && log.folded(first) == null) {
        courier.add(new Errand.ReadSegment(nextSegment));
      } else {
        for (long step = first; step < end; step++) {
          TgbEntry entry = log.folded(step);
          if (entry != null) {
            marks.add(entry);
          }
        }
      }
      nextSegment++;
    }
    if (!courier.idle() || nextSegment * Limits.SEGMENT_STEPS < nextStep) {
      return false;
    }
    phase = Phase.SWEEP;
    nextGroup = marks.firstGroup();
    surveying = marks.passes() == 1;
    if (surveying) {
      courier.add(new Errand.ListKeys(ObjectNames.DATA, policy.surveyKeys()));
    }
    return true;
  }

  private void segmentRead(long index, StoreResponse response) {
    String key = ObjectNames.segment(index);
    switch (response) {
      case StoreResponse.Found found -> {
        SegmentRecord segment = SegmentCodec.decode(key, found.body());
        if (segment.index() != index || !segment.streamId().equals(judged().streamId())) {
          throw unreadable(key, "it is another one");
        }
        for (long step = Math.max(horizon, segment.firstStep());
            step < segment.firstStep() + Limits.SEGMENT_STEPS;
            step++) {
          marks.add(segment.entries().get((int) (step - segment.firstStep())));
        }
      }
      case StoreResponse.NotFound gone -> segmentMissing(index, key);
      default -> throw unreadable(key, response.toString());
    }
  }

  /** Either another collector is ahead, which a look at the head tells, or it is lost. */
  private void segmentMissing(long index, String key) {
    if (missingSegment == index) {
      throw unreadable(key, "it does not exist");
    }
    missingSegment = index;
    courier.forgetAll();
    doomed.clear();
    tally.forgetKept();
    state = null;
    proposed = 0;
    proposeAnew();
    phase = Phase.COMMIT;
  }

  private void proposeAnew() {
    round++;
    proposed++;
    proposal = newProposal();
  }

  private static BatchWeaveException unreadable(String key, String why) {
    return new BatchWeaveException(
        Kind.CORRUPT,
        "collection stopped, what may be deleted cannot be told: key="
            + key
            + ": "
            + why
            + "; restore it, see `verify`");
  }

  // ---- what is there

  private boolean sweep() {
    if (surveying) {
      return false;
    }
    while (nextGroup < marks.endGroup() && courier.size() < policy.maxInFlight()) {
      courier.add(new Errand.ListKeys(ObjectNames.dataGroup(nextGroup++), Errand.LIST_LIMIT));
    }
    if (!courier.idle() || nextGroup < marks.endGroup()) {
      return false;
    }
    if (!doomed.isEmpty()) {
      flush(1);
      return true;
    }
    if (marks.pass() + 1 < marks.passes()) {
      beginPass(new Marks(marks.passes(), marks.pass() + 1));
    } else {
      phase = Phase.SEGMENTS;
      // The lowest segment tells how far deletion has come: it stays while data may be left.
      if (!incomplete && tally.failedKeys == 0) {
        courier.add(new Errand.ListKeys(ObjectNames.SEGMENTS, Errand.LIST_LIMIT));
      }
    }
    return true;
  }

  private boolean next(Phase following, @Nullable String prefix) {
    if (!courier.idle()) {
      return false;
    }
    if (!doomed.isEmpty()) {
      flush(1);
      return true;
    }
    phase = following;
    if (prefix != null) {
      courier.add(new Errand.ListKeys(prefix, Errand.LIST_LIMIT));
    }
    return true;
  }

  private Phase afterAll() {
    return policy.versions() == Versions.TRIM ? Phase.TRIM : Phase.DONE;
  }

  private boolean trim() {
    if (trimmer == null) {
      trimmer = new Trimmer(policy, horizon);
    }
    if (!trimmer.advance(courier)) {
      phase = Phase.DONE;
    }
    return false;
  }

  private void take(Errand errand, StoreResponse response) {
    if (trimmer != null) {
      trimmer.take(errand, response);
      return;
    }
    switch (errand) {
      case Errand.ReadSegment read -> segmentRead(read.index(), response);
      case Errand.ListKeys list -> {
        if (response instanceof StoreResponse.Listed listed) {
          listed(list.prefix(), listed);
        }
      }
      case Errand.DeleteObjects delete -> {
        if (response instanceof StoreResponse.Deleted deleted) {
          deleted(delete.objects(), deleted.failedKeys());
        }
      }
      case Errand.ReadVersion none -> {}
      case Errand.ReadSnapshot none -> {}
      case Errand.WriteTombstone none -> {}
    }
  }

  private void listed(String prefix, StoreResponse.Listed listed) {
    switch (prefix) {
      case ObjectNames.SEGMENTS -> segmentsListed(listed.objects());
      case ObjectNames.ANNOUNCEMENTS -> announcementsListed(listed.objects());
      case ObjectNames.DATA -> {
        surveying = false;
        if (!listed.truncated()) {
          nextGroup = marks.endGroup();
          dataListed(listed.objects());
        }
      }
      default -> {
        incomplete |= listed.truncated();
        dataListed(listed.objects());
      }
    }
    flush(Errand.KEYS_PER_DELETE);
  }

  private void dataListed(List<ListedObject> objects) {
    for (ListedObject object : objects) {
      DataObject data = ObjectNames.parseData(object.key());
      DataObject sourceState = data == null ? ObjectNames.parseState(object.key()) : null;
      if (data != null) {
        judge(object, Judgement.ofData(judged(), data, marks::contains));
      } else if (sourceState != null) {
        judge(object, Judgement.ofSourceState(judged(), sourceState));
      }
    }
  }

  private void judge(ListedObject object, Judgement judgement) {
    switch (judgement) {
      case DELETE -> doom(object);
      case KEEP -> tally.kept = tally.kept.plus(1, object.sizeBytes());
      case UNKNOWN_PRODUCER -> {
        tally.kept = tally.kept.plus(1, object.sizeBytes());
        tally.unknown = tally.unknown.plus(1, object.sizeBytes());
      }
    }
  }

  private void segmentsListed(List<ListedObject> objects) {
    List<ListedObject> below = new ArrayList<>();
    for (ListedObject object : objects) {
      OptionalLong index = ObjectNames.parseSegment(object.key());
      if (index.isPresent() && index.getAsLong() < horizon / Limits.SEGMENT_STEPS) {
        below.add(object);
      }
    }
    below.sort(Comparator.comparing(ListedObject::key));
    below.forEach(this::doom);
  }

  /** Whoever opens group g deletes g-3 and g-4; what is older still was left by a crash. */
  private void announcementsListed(List<ListedObject> objects) {
    long oldest = judged().version() / Limits.ANNOUNCE_VERSIONS - 2;
    for (ListedObject object : objects) {
      OptionalLong group = ObjectNames.parseAnnounceGroup(object.key());
      if (group.isPresent() && group.getAsLong() >= 0 && group.getAsLong() < oldest) {
        doom(object);
      }
    }
  }

  private void doom(ListedObject object) {
    if (policy.effect() == Effect.DRY_RUN) {
      tally.deleted(object);
    } else {
      doomed.add(object);
    }
  }

  /** Sends off what is to be deleted, as long as there are so many. */
  private void flush(int atLeast) {
    int from = 0;
    while (doomed.size() - from >= atLeast) {
      int to = Math.min(doomed.size(), from + Errand.KEYS_PER_DELETE);
      courier.add(new Errand.DeleteObjects(doomed.subList(from, to)));
      from = to;
    }
    doomed.subList(0, from).clear();
  }

  private void deleted(List<ListedObject> objects, List<String> failedKeys) {
    Set<String> failed = new HashSet<>(failedKeys);
    tally.failedKeys += failed.size();
    for (ListedObject object : objects) {
      if (!failed.contains(object.key())) {
        tally.deleted(object);
      }
    }
  }

  @Override
  public CollectorMachine copy() {
    return new CollectorMachine(this);
  }

  @Override
  public long fingerprint() {
    long hash =
        Fingerprint.of(
            phase.name(),
            proposal.fingerprint(),
            round,
            (long) proposed,
            courier.fingerprint(),
            bits.fingerprint(),
            marks.fingerprint(),
            doomed,
            horizon,
            trimmer == null ? 0 : trimmer.fingerprint());
    return Fingerprint.add(
        hash, Fingerprint.of(nextSegment, surveying, (long) nextGroup, incomplete, missingSegment));
  }
}
