package io.batchweave.bridge.ring;

import io.batchweave.bridge.ring.RegionRing.Item;
import io.batchweave.bridge.ring.RegionRing.Lease;
import io.batchweave.bridge.ring.RingGeneration.Ending;
import io.batchweave.bridge.ring.RingMember.Stage;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One ring: who reads it, where each step lies, when a region is free, and how one generation
 * follows another. Pure: events go in, {@link RingCommand}s come out, in the order in which they
 * are to be carried out. No thread, clock, random source or file inside; {@link #copy} and {@link
 * #fingerprint} let a model explore it.
 *
 * <p>Invariants:
 *
 * <ul>
 *   <li>a region is handed out only if no live lease and no unfinished fetch overlaps it, except
 *       the same step in the same place;
 *   <li>slot n is allocated only when every member has released n - N;
 *   <li>a region is freed only when every member released it, no lease of a former generation lies
 *       on it and no fetch may still write to it;
 *   <li>no generation opens while a fetch of a former one is unfinished;
 *   <li>nothing follows FAILED or END within a generation.
 * </ul>
 *
 * <p>Phases: IDLE (nobody), FORMING (members gather, fetches of the former generation drain), OPEN,
 * CLOSING (CLOSED is being stored). One thread drives it: call {@link #drain} after each event.
 */
public final class RingMachine {
  private enum Phase {
    IDLE,
    FORMING,
    OPEN,
    CLOSING
  }

  private static final long NEVER = Long.MAX_VALUE;

  /** A live rank that is not attached repeats its Hello more often than this. */
  private static final long HELLO_NS = 2_000_000_000L;

  private final RingSettings settings;
  private final List<RingCommand> commands = new ArrayList<>();
  private final RingMembers members;
  private final RingGeneration newest;

  private final RingSteps steps;

  /** Control files before the newest one that may still describe a lease. */
  private final TreeSet<Long> olderControls = new TreeSet<>();

  private Phase phase = Phase.IDLE;
  private @Nullable SessionKey session;

  /** When the generation starts without the local readers that are missing. */
  private long startAtNs = NEVER;

  private boolean startDue;

  /** Whether a rank may still say a step that is lower than those known. */
  private boolean awaitsHello;

  private boolean endAfterClose;

  /** What came while CLOSED was being stored, and what made it so. */
  private final List<ReaderHello> deferredHellos = new ArrayList<>();

  private final List<Id128> deferredGone = new ArrayList<>();

  /** Reader files not attached when the ring was taken over, and whom each replaces, if any. */
  private final Map<Id128, Id128> unsettled = new TreeMap<>();

  /**
   * Creates one whose ring is empty.
   *
   * @param settings what does not change
   * @param lastGeneration the highest generation number found in the directory; the first one here
   *     is the next
   */
  public RingMachine(RingSettings settings, long lastGeneration) {
    this.settings = settings;
    this.members = new RingMembers();
    this.newest =
        new RingGeneration(
            new RegionRing(settings.ringLengthBytes()), settings.descriptorCount(), lastGeneration);
    this.steps = new RingSteps(settings, newest, commands);
  }

  private RingMachine(RingSettings settings, RingTakeover taken, long nowNs) {
    this.settings = settings;
    this.members = taken.members;
    this.newest = taken.newest;
    this.steps = new RingSteps(settings, newest, commands);
    olderControls.addAll(taken.older);
    unsettled.putAll(taken.unsettled);
    if (!members.isEmpty()) {
      session = newest.session;
      phase = Phase.FORMING;
      if (unsettled.containsValue(Id128.NONE)) {
        awaitsHello = true;
        startAtNs = nowNs + Math.min(HELLO_NS, settings.startTimeoutNs());
      } else {
        startDue = true;
      }
    }
  }

  /**
   * Goes on where the daemon before left the ring: its ranks are expected, what they hold stays
   * where it is, and steps from the lowest one that somebody still wants keep their places. The
   * next generation opens at once, unless a reader file says nothing yet: its rank was attaching
   * for the first time and is given a moment to say its step. Ranks come back by their Hellos.
   *
   * @param settings what does not change
   * @param found the files of that daemon, at least one generation, each CLOSED, followed by a full
   *     fence, before any reader was looked at
   * @param nowNs the time
   */
  public static RingMachine takeOver(RingSettings settings, FoundRing found, long nowNs) {
    RingMachine machine = new RingMachine(settings, new RingTakeover(settings, found), nowNs);
    machine.dropControls();
    machine.freeTail();
    machine.openIfReady();
    return machine;
  }

  private RingMachine(RingMachine other) {
    settings = other.settings;
    members = other.members.copy();
    newest = other.newest.copy();
    commands.addAll(other.commands);
    steps = other.steps.copy(newest, commands);
    olderControls.addAll(other.olderControls);
    phase = other.phase;
    session = other.session;
    startAtNs = other.startAtNs;
    startDue = other.startDue;
    awaitsHello = other.awaitsHello;
    endAfterClose = other.endAfterClose;
    deferredHellos.addAll(other.deferredHellos);
    deferredGone.addAll(other.deferredGone);
    unsettled.putAll(other.unsettled);
  }

  /** A deep copy that shares no mutable state. */
  public RingMachine copy() {
    return new RingMachine(this);
  }

  /** A hash of the whole state. */
  public long fingerprint() {
    StateHash hash = new StateHash();
    hash(hash);
    return hash.value();
  }

  void hash(StateHash hash) {
    newest.hash(hash, phase == Phase.OPEN);
    members.hash(hash);
    steps.hash(hash);
    hash.olderControls(olderControls);
    hash.add(phase.name().hashCode()).add(Objects.hashCode(session)).add(startAtNs);
    hash.add(startDue ? 1 : 0).add(endAfterClose ? 1 : 0).add(awaitsHello ? 1 : 0);
    hash.add(deferredHellos.hashCode()).add(deferredGone.hashCode());
    hash.readers(unsettled.keySet()).readers(unsettled.values());
    hash.add(commands.hashCode());
  }

  /** Those of {@link #readers} whose going would change something: members, and who has a lease. */
  List<Id128> lastingReaders() {
    return members.lastingReaders();
  }

  /** Reader files that are still to say Hello after a restart, and those that they replace. */
  Map<Id128, Id128> unsettled() {
    return unsettled;
  }

  /**
   * Hands out what is to be done, in order, and forgets it.
   *
   * @param consumer carries each command out
   */
  public void drain(Consumer<RingCommand> consumer) {
    while (!commands.isEmpty()) {
      List<RingCommand> batch = List.copyOf(commands);
      commands.clear();
      batch.forEach(consumer);
    }
  }

  // ---- what the daemon asks

  /** The session that the ring serves or forms, if any. */
  public @Nullable SessionKey session() {
    return session;
  }

  /** The slices of the newest generation. */
  public List<Coordinate> coordinates() {
    return newest.coordinates;
  }

  /** Every reader file to be looked at: {@link #onReader}, {@link #onReaderGone}. */
  public List<Id128> readers() {
    return members.readers();
  }

  /** Number of ranks that are served, wanted or expected. */
  public int memberCount() {
    return members.size();
  }

  /** The number of the newest generation. */
  public long generation() {
    return newest.number;
  }

  /** Whether steps can be taken. */
  public boolean isOpen() {
    return phase == Phase.OPEN;
  }

  /** Whether nobody is served and nothing is leased or being fetched. */
  public boolean isFree() {
    return phase == Phase.IDLE
        && steps.isIdle()
        && newest.ring.isEmpty()
        && newest.ring.outside().isEmpty();
  }

  /** When {@link #onTime} is due; Long.MAX_VALUE when it is not. */
  public long wakeAtNs() {
    return phase == Phase.FORMING ? startAtNs : isStranded() ? 0 : NEVER;
  }

  /**
   * The step that the ring would take next, to be offered; -1 when it wants none now: nothing is
   * open, the stream ended or failed, or a rank is N steps behind. A step that does not fit stays
   * wanted: offer it again after each event.
   */
  public long wantedStep() {
    return phase == Phase.OPEN
            && newest.ending == Ending.NONE
            && newest.slotIsFree(members.lowest())
        ? newest.nextStep
        : -1;
  }

  /** How the ring stands, for the control file and for people. */
  public RingStatus status(String trouble) {
    long blockedBytes = steps.blockedBytes();
    long needed = settings.neededBytes(blockedBytes);
    Id128 blocker = blockedBytes > 0 ? members.blocker(newest.ring, needed) : Id128.NONE;
    return newest.status(blockedBytes, blocker, members.unreleased(blocker, newest.nextN), trouble);
  }

  // ---- ranks come and go

  /**
   * A rank says Hello. Idempotent: the same Hello again repeats the answer or changes nothing.
   * Which launch of a group may have the ring is decided before, by the daemon.
   *
   * @param hello who, and what it wants
   * @param nowNs the time, for the wait for local readers
   */
  public void onHello(ReaderHello hello, long nowNs) {
    if (phase == Phase.CLOSING) {
      deferredHellos.add(hello);
      return;
    }
    RingMember same = members.find(hello.reader());
    if (same != null && same.stage != Stage.EXPECTED) {
      if (same.stage == Stage.WELCOMED) {
        welcome(same);
      }
    } else if (same != null || members.isHolder(hello.reader())) {
      refuse(hello.reader(), RingRefusal.READER_FILE, "a reader file serves one attachment only");
    } else if (members.disagree(session, hello)) {
      refuse(
          hello.reader(),
          RingRefusal.SIZES_DISAGREE,
          "another rank of the session announced other sizes, another stream or another number of"
              + " local readers: session="
              + hello.session()
              + " localReaders="
              + hello.localReaders());
    } else if (phase == Phase.OPEN) {
      joinOpen(hello, nowNs);
    } else {
      joinForming(hello, nowNs);
    }
  }

  private void joinOpen(ReaderHello hello, long nowNs) {
    boolean sameSession = hello.session().equals(session);
    boolean sameSlices = newest.coordinates.containsAll(hello.coordinates());
    boolean retry = newest.ending == Ending.FAILED && hello.nextStep() == newest.endingStep;
    if (sameSession && sameSlices && !retry && newest.isReachable(hello.nextStep())) {
      replacePrevious(hello);
      RingMember member = new RingMember(hello);
      members.add(member);
      place(member);
      freeTail();
      return;
    }
    if (!(sameSession && retry) && !gapSuffices(hello)) {
      refuseHeld(hello.reader(), hello.regionBytes(), members.possibleLeases(newest));
      return;
    }
    deferredHellos.add(hello);
    close(
        !sameSession
            ? CloseReason.NEW_SESSION
            : retry
                ? CloseReason.RETRY
                : sameSlices ? CloseReason.OLDER_STEP : CloseReason.COORDINATE,
        nowNs);
  }

  private void joinForming(ReaderHello hello, long nowNs) {
    if (session != null && !hello.session().equals(session)) {
      retireAll();
    }
    replacePrevious(hello);
    session = hello.session();
    members.add(new RingMember(hello));
    if (phase == Phase.IDLE) {
      form(nowNs);
    }
    openIfReady();
  }

  /** Nobody is served any more; leases stay until released or until their lock goes. */
  private void retireAll() {
    for (RingMember member : members.list()) {
      members.remove(member);
      if (member.stage == Stage.PENDING) {
        refuse(member.reader, RingRefusal.NO_RING, "the ring now serves another launch, or nobody");
      }
      members.makeHolder(member.reader);
    }
    dropControls();
  }

  /**
   * A rank came back with another file: through the old one it takes nothing more, and what it took
   * there and did not release stays where it is.
   */
  private void replacePrevious(ReaderHello hello) {
    RingMember replaced = members.find(hello.previous());
    Id128 before = unsettled.remove(hello.previous());
    if (replaced == null && before != null) {
      replaced = members.find(before);
    }
    if (replaced == null) {
      return;
    }
    members.remove(replaced);
    members.makeHolder(replaced.reader);
    dropControls();
    if (replaced.stage == Stage.WELCOMED) {
      replaced.taken = newest.nextN; // not looked at since; a look drops what it never took
      members.addLeases(replaced, newest, ignored -> false);
    }
  }

  /**
   * Looks at what a rank has written since the last look.
   *
   * @param reader its reader file
   * @param view what it says
   */
  public void onReader(Id128 reader, ReaderView view) {
    if (phase == Phase.CLOSING) {
      return;
    }
    List<Lease> leases = members.leases(reader);
    if (leases != null && !leases.isEmpty()) {
      long taken = view.taken();
      List<Lease> released = null;
      for (Lease lease : leases) {
        if (taken <= lease.n() || view.isAcked(lease.n())) {
          released = released == null ? new ArrayList<>() : released;
          released.add(lease);
        }
      }
      if (released != null) {
        release(leases, released);
      }
    }
    RingMember member = members.find(reader);
    if (phase == Phase.OPEN && member != null && member.stage == Stage.WELCOMED) {
      long before = member.lowest;
      advance(member, view);
      if (member.lowest != before) {
        freeTail();
      }
    }
  }

  private void advance(RingMember member, ReaderView view) {
    if (view.isAttached()) {
      member.taken = Math.clamp(view.taken(), member.firstN, newest.nextN);
      while (member.lowest < member.taken && view.isAcked(member.lowest)) {
        member.lowest++;
      }
    }
  }

  private void release(List<Lease> leases, List<Lease> released) {
    for (Lease lease : released) {
      leases.remove(lease);
      newest.ring.release(lease);
    }
    dropControls();
    freeTail();
  }

  /**
   * A rank's lock is gone: it has exited, was killed, or closed this attachment.
   *
   * @param reader its reader file
   * @param nowNs the time
   */
  public void onReaderGone(Id128 reader, long nowNs) {
    if (phase == Phase.CLOSING) {
      deferredGone.add(reader);
      return;
    }
    List<Lease> leases = members.removeHolder(reader);
    RingMember member = members.find(reader);
    if (leases != null) {
      release(leases, List.copyOf(leases));
    }
    commands.add(new RingCommand.DropReader(reader));
    if (member == null) {
      openIfReady(); // a lease less may make room
      return;
    }
    members.remove(member);
    dropControls();
    if (!members.isEmpty()) {
      freeTail();
      openIfReady();
    } else if (phase == Phase.OPEN) {
      close(CloseReason.SESSION_END, nowNs);
    } else {
      goIdle();
    }
  }

  /**
   * Serves nobody any more: the session ended.
   *
   * @param nowNs the time
   */
  public void onEnd(long nowNs) {
    switch (phase) {
      case OPEN -> {
        endAfterClose = true;
        close(CloseReason.SESSION_END, nowNs);
      }
      case CLOSING -> endAfterClose = true;
      case FORMING -> {
        retireAll();
        goIdle();
      }
      case IDLE -> {}
    }
  }

  // ---- steps

  /**
   * The wanted step exists.
   *
   * @param step what {@link #wantedStep} said
   * @param stepAfter the step after it for this session
   * @param regionBytes what the node needs of it, a multiple of the page size
   */
  public void onStep(long step, long stepAfter, long regionBytes) {
    if (wantedStep() != step) {
      return;
    }
    if (steps.append(step, stepAfter, regionBytes)) {
      members.list().forEach(this::place);
    }
  }

  /**
   * The stream is sealed at the wanted step.
   *
   * @param step what {@link #wantedStep} said
   */
  public void onEndOfStream(long step) {
    if (wantedStep() == step) {
      steps.end(step);
      members.list().forEach(this::place);
    }
  }

  /**
   * The wanted step can never be served.
   *
   * @param step what {@link #wantedStep} said
   * @param reason why, a permanent cause
   * @param text for people
   */
  public void onStepFailed(long step, FailReason reason, String text) {
    if (wantedStep() == step) {
      steps.fail(step, reason, text);
      members.list().forEach(this::place);
    }
  }

  /**
   * A fetch ended: nothing can write to its region any more.
   *
   * @param fetchId from the command
   * @param outcome how
   * @param reason of FAILED
   * @param text of FAILED, for people
   */
  public void onFetchFinished(
      long fetchId, FetchOutcome outcome, @Nullable FailReason reason, String text) {
    if (steps.finished(fetchId, outcome, reason, text, phase == Phase.OPEN)) {
      freeTail();
      openIfReady();
    }
  }

  // ---- generations

  private void close(CloseReason reason, long nowNs) {
    commands.add(new RingCommand.Close(newest.number, reason));
    phase = Phase.CLOSING;
    steps.unblock();
    steps.cancelAll();
    form(nowNs);
  }

  /** Sets when the generation to come starts without the local readers that are missing. */
  private void form(long nowNs) {
    if (phase == Phase.IDLE) {
      phase = Phase.FORMING;
    }
    startAtNs = nowNs + settings.startTimeoutNs();
    startDue = false;
  }

  /**
   * CLOSED is stored, followed by a full fence: here is what every reader had taken.
   *
   * @param views of each reader file
   * @param nowNs the time
   */
  public void onClosed(Function<Id128, ReaderView> views, long nowNs) {
    if (phase != Phase.CLOSING) {
      return;
    }
    for (RingMember member : members) {
      if (member.stage == Stage.WELCOMED) {
        expect(member, views.apply(member.reader));
      } else {
        member.placeAt(RingMember.NO_N);
      }
    }
    phase = Phase.FORMING;
    if (endAfterClose || (members.isEmpty() && deferredHellos.isEmpty())) {
      endAfterClose = false;
      retireAll();
      goIdle();
    }
    List<Id128> gone = List.copyOf(deferredGone);
    deferredGone.clear();
    List<ReaderHello> hellos = List.copyOf(deferredHellos);
    deferredHellos.clear();
    for (ReaderHello hello : hellos) {
      onHello(hello, nowNs);
    }
    for (Id128 reader : gone) {
      onReaderGone(reader, nowNs);
    }
    openIfReady();
  }

  /** What a member of a closed generation took and did not release, and where it goes on. */
  private void expect(RingMember member, ReaderView view) {
    if (!view.isAttached()) {
      member.stage = Stage.PENDING; // its answer is repeated for the generation to come
      member.placeAt(RingMember.NO_N);
      return;
    }
    advance(member, view);
    members.makeHolder(member.reader);
    members.addLeases(member, newest, view::isAcked);
    // It may be just about to back out of its last step: count it as not taken while it holds it.
    long last = member.taken - 1;
    boolean holdsLast = last >= member.lowest && !view.isAcked(last);
    member.nextStep = newest.stepOf(holdsLast ? last : member.taken);
    member.stage = Stage.EXPECTED;
    member.generation = newest.number;
    member.placeAt(RingMember.NO_N);
  }

  /**
   * The time has come; due at {@link #wakeAtNs}.
   *
   * @param nowNs the time
   */
  public void onTime(long nowNs) {
    if (phase == Phase.FORMING && nowNs >= startAtNs) {
      startDue = true;
      openIfReady();
    } else if (isStranded()) {
      close(CloseReason.RETRY, nowNs);
    }
  }

  /** Whether the generation FAILED at a step that no member wants: all of them are beyond it. */
  private boolean isStranded() {
    return phase == Phase.OPEN
        && newest.ending == Ending.FAILED
        && members.allBeyond(newest.endingN);
  }

  private void goIdle() {
    phase = Phase.IDLE;
    session = null;
    startAtNs = NEVER;
    newest.abandon();
    freeTail();
  }

  private void openIfReady() {
    SessionKey forSession = session;
    while (phase == Phase.FORMING && forSession != null && steps.isIdle() && allThere()) {
      long first = members.list().stream().mapToLong(member -> member.nextStep).min().orElseThrow();
      List<Coordinate> union =
          members.list().stream()
              .flatMap(member -> member.coordinates.stream())
              .distinct()
              .sorted()
              .toList();
      if (newest.keepsPlaces(forSession, first, union)) {
        open(forSession, first, newest.coordinates, true);
      } else if (gapBytes(newest.ring.leasesByOffset()) >= requiredGap(members.regionBytes())) {
        open(forSession, first, union, false);
      } else {
        refuseCauses();
      }
    }
  }

  /** Only a session's first generation waits for all: later some may have left for good. */
  private boolean allThere() {
    return !members.isEmpty()
        && (startDue
            || (newest.hasServed(session) && !awaitsHello)
            || members.size() >= members.list().getFirst().localReaders);
  }

  /** The gap a step needs; one too large for the whole ring is told as FAILED, not as held. */
  private long requiredGap(long regionBytes) {
    return Math.min(settings.neededBytes(regionBytes), settings.ringLengthBytes());
  }

  private long gapBytes(List<Lease> leases) {
    return newest.ring.largestGap(leases).lengthBytes();
  }

  private void open(SessionKey forSession, long first, List<Coordinate> union, boolean keep) {
    if (newest.number > 0) {
      olderControls.add(newest.number);
    }
    List<Item> kept = newest.begin(forSession, first, union, keep);
    steps.unblock();
    phase = Phase.OPEN;
    startAtNs = NEVER;
    startDue = false;
    awaitsHello = false;
    commands.add(
        new RingCommand.Create(
            newest.number, forSession, first, union, members.list().getFirst().localReaders));
    for (Item item : kept) {
      commands.add(new RingCommand.Allocate(item.n, item.region));
    }
    commands.add(new RingCommand.Open(newest.number));
    dropControls();
    members.list().forEach(this::place);
    steps.fetchKept(kept);
    freeTail();
  }

  /** Refuses those for whom the ring is too full, so that the others go on. */
  private void refuseCauses() {
    List<RingMember> pending =
        members.list().stream().filter(member -> member.stage == Stage.PENDING).toList();
    List<RingMember> causes =
        pending.stream()
            .filter(
                member -> !newest.keepsPlaces(session, member.nextStep, coordinatesWith(member)))
            .toList();
    for (RingMember member : causes.isEmpty() ? pending : causes) {
      members.remove(member);
      members.makeHolder(member.reader);
      refuseHeld(member.reader, member.regionBytes, newest.ring.leasesByOffset());
    }
    if (members.isEmpty()) {
      goIdle();
    } else if (pending.isEmpty()) {
      retireAll(); // cannot go on for those who are not even here: they will say Hello
      goIdle();
    }
  }

  private List<Coordinate> coordinatesWith(RingMember member) {
    return newest.coordinates.containsAll(member.coordinates)
        ? newest.coordinates
        : member.coordinates;
  }

  private void dropControls() {
    for (Long older : List.copyOf(olderControls)) {
      if (!members.needs(older)) {
        olderControls.remove(older);
        commands.add(new RingCommand.DropControl(older));
      }
    }
  }

  // ---- members and space

  /** Gives a member its first n, if its step has one by now; until then it holds nothing. */
  private void place(RingMember member) {
    long n = member.lowest == RingMember.NO_N ? newest.placeOf(member.nextStep) : -1;
    if (n < 0) {
      return;
    }
    member.placeAt(n);
    if (member.stage == Stage.PENDING) {
      member.stage = Stage.WELCOMED;
      welcome(member);
    }
  }

  private void welcome(RingMember member) {
    commands.add(
        new RingCommand.Welcome(
            member.reader, newest.number, member.firstN, newest.stepOf(member.firstN)));
  }

  private void refuse(Id128 reader, RingRefusal refusal, String text) {
    commands.add(new RingCommand.Refuse(reader, refusal, 0, 0, text));
  }

  private boolean gapSuffices(ReaderHello hello) {
    return gapBytes(members.possibleLeases(newest)) >= requiredGap(hello.regionBytes());
  }

  private void refuseHeld(Id128 reader, long regionBytes, List<Lease> leases) {
    commands.add(
        members.ringHeld(reader, leases, settings.neededBytes(regionBytes), gapBytes(leases)));
  }

  private void freeTail() {
    long lowest = members.lowest();
    Item first = newest.ring.first();
    while (first != null && isFree(first, lowest)) {
      newest.ring.removeFirst();
      first = newest.ring.first();
    }
  }

  private boolean isFree(Item item, long lowest) {
    if (item.fetchId >= 0 || !item.leases.isEmpty()) {
      return false;
    }
    // While no generation is open, what it described keeps its place.
    return item.n < 0 || (phase == Phase.OPEN && item.published && item.n < lowest);
  }
}
