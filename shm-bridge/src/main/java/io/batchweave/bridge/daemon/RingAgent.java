package io.batchweave.bridge.daemon;

import io.batchweave.BatchWeaveException;
import io.batchweave.bridge.daemon.StepSource.Answer.End;
import io.batchweave.bridge.daemon.StepSource.Answer.Known;
import io.batchweave.bridge.daemon.StepSource.Answer.Later;
import io.batchweave.bridge.daemon.StepSource.Answer.Never;
import io.batchweave.bridge.handshake.Answer;
import io.batchweave.bridge.handshake.HandshakeProtocol;
import io.batchweave.bridge.handshake.Hello;
import io.batchweave.bridge.handshake.RefusalCode;
import io.batchweave.bridge.memory.FutexWaiter;
import io.batchweave.bridge.memory.NativeMemoryException;
import io.batchweave.bridge.ring.CloseReason;
import io.batchweave.bridge.ring.ControlDescriptor;
import io.batchweave.bridge.ring.Coordinate;
import io.batchweave.bridge.ring.GenerationHeader;
import io.batchweave.bridge.ring.Id128;
import io.batchweave.bridge.ring.ReaderHello;
import io.batchweave.bridge.ring.RingAbi;
import io.batchweave.bridge.ring.RingCommand;
import io.batchweave.bridge.ring.RingMachine;
import io.batchweave.bridge.ring.RingSettings;
import io.batchweave.bridge.ring.RingStatus;
import io.batchweave.bridge.ring.SessionKey;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.log.Bits;
import io.batchweave.read.SlicePlan;
import io.batchweave.store.ObjectStore;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Carries out what the {@link RingMachine} of one ring decides: control files, fetches, answers to
 * ranks; and brings it what happens: Hellos, acks, locks that go, steps that exist. One thread.
 */
final class RingAgent implements AutoCloseable {
  private static final int DESCRIPTORS = 256;
  private static final int NOT_YET_RETRY_MILLIS = 100;
  private static final int MAX_OFFERS_PER_CYCLE = 16;
  private static final long PROBE_NS = TimeUnit.MILLISECONDS.toNanos(5);
  private static final long STATUS_NS = TimeUnit.MILLISECONDS.toNanos(20);
  private static final long IDLE_FEED_NS = TimeUnit.SECONDS.toNanos(30);

  /** A Hello that was not answered yet. */
  private record Waiting(Hello hello, long untilNs) {}

  private final DaemonParts parts;
  private final RingFiles.DataFile data;
  private final RingSettings settings;
  private final RingMachine machine;
  private final long prefetchBytes;
  private final FutexWaiter waker;
  private final Bits bits;
  private final BiConsumer<Hello, Answer> answers;
  private final ArrayDeque<RingCommand> commands = new ArrayDeque<>();
  private final Consumer<RingCommand> addCommand = commands::add;
  private final Map<Id128, ReaderTap> readers = new HashMap<>();

  /** The same, to be gone through in every duty cycle without garbage. */
  private List<ReaderTap> taps = List.of();

  private final Map<Id128, Waiting> waiting = new HashMap<>();
  private final Map<Long, GenerationFile> generations = new HashMap<>();
  private final RingFetches fetches;
  private @Nullable SessionKey feedSession;
  private @Nullable StreamSource source;
  private @Nullable StreamDescriptor descriptor;
  private @Nullable StepSource steps;
  private long sessionStartStep = Hello.NO_STEP;
  private long nextProbeNs;
  private long nextStatusNs;
  private long idleSinceNs;
  private String commandTrouble = "";
  private RingStatus lastStatus = RingStatus.IDLE;
  private volatile RingGauges gauges = RingGauges.NONE;

  RingAgent(DaemonParts parts, RingFiles.DataFile data, BiConsumer<Hello, Answer> answers) {
    this.parts = parts;
    this.data = data;
    this.answers = answers;
    DaemonContext context = parts.context();
    this.settings =
        new RingSettings(
            data.header().number(),
            data.header().lengthBytes(),
            data.header().pageSizeBytes(),
            DESCRIPTORS,
            context.hold(),
            context.localReadersTimeoutNs());
    this.machine = new RingMachine(settings, 0);
    this.fetches = new RingFetches(parts.fetcher(), data, machine, this::execute);
    // A bound at or above the ring is no bound: what does not fit is the machine's to say.
    this.prefetchBytes =
        context.prefetchBytes() < settings.ringLengthBytes()
            ? context.prefetchBytes()
            : Long.MAX_VALUE;
    this.waker = context.memory().newWaiter();
    this.bits = new Bits(context.seed() + data.header().number());
    this.idleSinceNs = now();
  }

  private long now() {
    return parts.context().nanoClock().nanoTime();
  }

  /** The session it serves or forms; null if none. */
  @Nullable SessionKey session() {
    return machine.session();
  }

  /** Whether ranks live that it serves. */
  boolean isServing() {
    return machine.memberCount() > 0;
  }

  /** Whether it looks after a reader file. */
  boolean knows(Id128 reader) {
    return readers.containsKey(reader);
  }

  /** For the metrics; from any thread. */
  RingGauges gauges() {
    return gauges;
  }

  // ---- Hello

  /** A Hello whose form, stream and session were found good. */
  void onHello(Hello hello, SessionKey session, StreamSource from, StreamDescriptor about) {
    Id128 id = Id128.parse(hello.readerFile().substring(0, 32));
    Answer.Refused refused = admit(hello, id, session);
    if (refused != null) {
      parts.metrics().refusals.increment();
      answers.accept(hello, refused);
      return;
    }
    waiting.put(id, new Waiting(hello, now() + HandshakeProtocol.HOLD_HELLO_NS));
    List<Coordinate> coordinates = coordinates(hello, about);
    long wanted = HelloCheck.wantedStep(hello, Math.max(0, sessionStartStep));
    machine.onHello(
        new ReaderHello(
            id,
            hello.previousReaderFile().isEmpty()
                ? Id128.NONE
                : Id128.parse(hello.previousReaderFile().substring(0, 32)),
            session,
            coordinates,
            wanted,
            hello.shape().localReaders(),
            regionBytes(wanted, coordinates)),
        now());
    if (session.equals(machine.session())) {
      follow(session, from, about);
    }
    execute();
  }

  private Answer.@Nullable Refused admit(Hello hello, Id128 id, SessionKey session) {
    if (!readers.containsKey(id)) {
      ReaderTap tap;
      try {
        tap = ReaderTap.open(parts.context().memory(), parts.directory().path(), id);
      } catch (BatchWeaveException | InternalError e) {
        return new Answer.Refused(RefusalCode.READER_FILE, String.valueOf(e.getMessage()));
      }
      if (tap == null) {
        return new Answer.Refused(
            RefusalCode.READER_FILE, "no such reader file here: file=" + hello.readerFile());
      }
      readers.put(id, tap);
      taps = List.copyOf(readers.values());
    }
    ReaderTap tap = readers.get(id);
    if (tap == null || !tap.isLocked()) {
      forget(id);
      return new Answer.Refused(
          RefusalCode.LOCK_NOT_VISIBLE,
          "the daemon cannot see the lock of the reader file: file="
              + hello.readerFile()
              + "; run daemon and ranks under one kernel (not gVisor or Kata)");
    }
    return checkStart(hello, session);
  }

  /** Ranks that say no step of their own must agree on where the session starts. */
  private Answer.@Nullable Refused checkStart(Hello hello, SessionKey session) {
    if (!session.equals(machine.session()) || !isServing()) {
      sessionStartStep = Hello.NO_STEP;
    }
    if (hello.nextStep() != Hello.NO_STEP) {
      return null;
    }
    long start = HelloCheck.wantedStep(hello, Math.max(0, sessionStartStep));
    if (sessionStartStep == Hello.NO_STEP) {
      sessionStartStep = start;
    }
    if (start != sessionStartStep) {
      return new Answer.Refused(
          RefusalCode.START_DISAGREES,
          "the token disagrees with the session's start: token="
              + start
              + " session="
              + sessionStartStep
              + "; load the same checkpoint on all ranks ("
              + hello.describe()
              + ")");
    }
    return null;
  }

  private static List<Coordinate> coordinates(Hello hello, StreamDescriptor about) {
    List<Coordinate> slices = new ArrayList<>();
    for (io.batchweave.read.Coordinate place :
        SlicePlan.slicesOf(
            about.grid(),
            HelloCheck.grid(hello),
            new io.batchweave.read.Coordinate(hello.shape().dp(), hello.shape().cp()))) {
      slices.add(new Coordinate(place.dp(), place.cp()));
    }
    return slices;
  }

  private long regionBytes(long step, List<Coordinate> more) {
    StepSource open = steps;
    if (open == null) {
      return 0;
    }
    TreeSet<Coordinate> all = new TreeSet<>(machine.coordinates());
    all.addAll(more);
    return open.lookup(step, List.copyOf(all)) instanceof Known known
        ? regionLength(known.plan())
        : 0;
  }

  private long regionLength(RegionPlan plan) {
    long page = settings.pageSizeBytes();
    return (plan.lengthBytes() + page - 1) / page * page;
  }

  private void follow(SessionKey session, StreamSource from, StreamDescriptor about) {
    if (!session.equals(feedSession)) {
      unfollow();
      feedSession = session;
      source = from;
      descriptor = about;
      steps = new StepSource(parts.newFeed(from), about.grid());
    }
  }

  private void unfollow() {
    StepSource open = steps;
    if (open != null) {
      open.feed().close();
    }
    steps = null;
    feedSession = null;
    source = null;
  }

  private void forget(Id128 id) {
    waiting.remove(id);
    ReaderTap tap = readers.remove(id);
    if (tap != null) {
      taps = List.copyOf(readers.values());
      tap.close();
    }
  }

  // ---- duty cycle

  /** Looks at everything once. */
  int doWork() {
    long now = now();
    int work = readReaders(now);
    if (now - machine.wakeAtNs() >= 0 && machine.wakeAtNs() != Long.MAX_VALUE) {
      machine.onTime(now);
    }
    work += offerSteps();
    work += execute();
    work += fetches.startWaiting(steps, store());
    answerNotYet(now);
    publishStatus(now);
    closeIdleFeed(now);
    return work;
  }

  private int readReaders(long now) {
    int work = 0;
    boolean probe = now - nextProbeNs >= 0;
    if (probe) {
      nextProbeNs = now + PROBE_NS;
    }
    List<ReaderTap> looked = taps;
    for (int i = 0; i < looked.size(); i++) {
      ReaderTap tap = looked.get(i);
      if (readers.get(tap.id()) != tap) {
        continue; // dropped a moment ago, with another one
      }
      if (probe && !tap.isLocked()) {
        parts.metrics().readersLost.increment();
        gone(tap);
        work++;
      } else {
        machine.onReader(tap.id(), tap);
        countStall(tap);
      }
    }
    return work;
  }

  private void gone(ReaderTap tap) {
    machine.onReaderGone(tap.id(), now());
    execute();
    // The machine forgets ranks it knew; one that it never took is forgotten here.
    if (readers.get(tap.id()) == tap) {
      tap.unlink();
      forget(tap.id());
    }
  }

  private void countStall(ReaderTap tap) {
    if (tap.startsToWait(lastStatus.publishedCount())) {
      parts.metrics().stalls.increment();
    }
  }

  private int offerSteps() {
    StepSource open = steps;
    if (open == null) {
      return 0;
    }
    open.coordinates(machine.coordinates());
    int offered = 0;
    long wanted = machine.wantedStep();
    while (wanted >= 0 && offered < MAX_OFFERS_PER_CYCLE) {
      StepSource.Answer answer = open.lookup(wanted);
      switch (answer) {
        case Later later -> {
          return offered;
        }
        case End end -> machine.onEndOfStream(wanted);
        case Never never -> machine.onStepFailed(wanted, never.reason(), never.text());
        case Known known -> {
          long used = lastUsedBytes();
          long length = regionLength(known.plan());
          if (used > 0 && used + length > prefetchBytes && !isAnyRankOutOfSteps()) {
            return offered;
          }
          machine.onStep(wanted, wanted + 1, length);
        }
      }
      offered++;
      execute();
      long next = machine.wantedStep();
      if (next == wanted) {
        break;
      }
      wanted = next;
    }
    open.nowAt(wanted);
    return offered;
  }

  /**
   * Whether a rank has taken all there is. Then the bound on prefetching is not what it waits for:
   * the step is offered, so that either it comes or the status says whose leases are in the way.
   */
  private boolean isAnyRankOutOfSteps() {
    long allocated = machine.status("").allocatedCount();
    for (ReaderTap tap : readers.values()) {
      if (tap.isAttached() && tap.taken() >= allocated) {
        return true;
      }
    }
    return false;
  }

  private long lastUsedBytes() {
    return machine.status("").usedBytes();
  }

  private @Nullable ObjectStore store() {
    StreamSource from = source;
    return from == null ? null : from.store();
  }

  private void answerNotYet(long now) {
    if (waiting.isEmpty()) {
      return;
    }
    for (Map.Entry<Id128, Waiting> entry : List.copyOf(waiting.entrySet())) {
      if (now - entry.getValue().untilNs() >= 0) {
        waiting.remove(entry.getKey());
        answers.accept(
            entry.getValue().hello(), Answer.Refused.notYet(whatIsAwaited(), NOT_YET_RETRY_MILLIS));
      }
    }
  }

  private String whatIsAwaited() {
    String trouble = trouble();
    return "ring="
        + settings.ringNumber()
        + " local ranks here="
        + machine.memberCount()
        + " generation="
        + machine.generation()
        + (machine.isOpen() ? " open" : " forming")
        + (trouble.isEmpty() ? "" : ": " + trouble);
  }

  private String trouble() {
    if (!commandTrouble.isEmpty()) {
      return commandTrouble;
    }
    String fetching = fetches.trouble();
    StepSource open = steps;
    return fetching.isEmpty() && open != null ? open.trouble() : fetching;
  }

  private void publishStatus(long now) {
    if (now - nextStatusNs < 0) {
      return;
    }
    nextStatusNs = now + STATUS_NS;
    RingStatus status = machine.status(trouble());
    GenerationFile open = generations.get(machine.generation());
    if (open != null && !status.equals(lastStatus)) {
      open.status(status);
    }
    lastStatus = status;
    StepSource follows = steps;
    SessionKey session = machine.session();
    gauges =
        new RingGauges(
            settings.ringNumber(),
            source == null ? "" : source.url(),
            session == null ? "" : session.group(),
            session == null ? "" : session.session(),
            machine.memberCount(),
            machine.generation(),
            settings.ringLengthBytes(),
            follows == null ? -1 : follows.feed().headStep(),
            status);
  }

  private void closeIdleFeed(long now) {
    if (isServing() || !waiting.isEmpty()) {
      idleSinceNs = now;
    } else if (steps != null && now - idleSinceNs > IDLE_FEED_NS) {
      unfollow();
    }
  }

  // ---- commands

  private int execute() {
    int done = 0;
    machine.drain(addCommand);
    for (RingCommand next = commands.peek(); next != null; next = commands.peek()) {
      try {
        execute(next);
        commandTrouble = "";
      } catch (NativeMemoryException e) {
        // No room for a control file just now: the same command again in the next cycle.
        commandTrouble = String.valueOf(e.getMessage());
        return done;
      } catch (RuntimeException e) {
        commands.remove();
        throw e;
      }
      commands.remove();
      done++;
      machine.drain(addCommand);
    }
    return done;
  }

  private void execute(RingCommand command) {
    switch (command) {
      case RingCommand.Create create -> create(create);
      case RingCommand.Allocate allocate -> newest().allocate(allocate.n(), allocate.region());
      case RingCommand.Open open -> {
        newest().open();
        parts.metrics().generations.increment();
      }
      case RingCommand.Fetch fetch -> fetches.start(fetch, steps, store());
      case RingCommand.Cancel cancel -> fetches.cancel(cancel.fetchId());
      case RingCommand.Publish publish -> publish(publish);
      case RingCommand.Close close -> close(close);
      case RingCommand.Welcome welcome -> welcome(welcome);
      case RingCommand.Refuse refuse -> refuse(refuse);
      case RingCommand.DropReader drop -> {
        ReaderTap tap = readers.get(drop.reader());
        if (tap != null) {
          tap.unlink();
        }
        forget(drop.reader());
      }
      case RingCommand.DropControl drop -> {
        GenerationFile file = generations.remove(drop.generation());
        if (file != null) {
          file.unlink();
          file.close();
        }
      }
    }
  }

  private GenerationFile newest() {
    GenerationFile file = generations.get(machine.generation());
    if (file == null) {
      throw new IllegalStateException("no control file: generation=" + machine.generation());
    }
    return file;
  }

  private void create(RingCommand.Create create) {
    SessionKey session = create.session();
    GenerationHeader header =
        new GenerationHeader(
            data.header(),
            create.generation(),
            new Id128(bits.nextLong(), bits.nextLong()),
            create.firstStep(),
            settings.descriptorCount(),
            settings.hold(),
            new GenerationHeader.SessionHeader(
                session.streamId(),
                session.group(),
                session.session(),
                0,
                session.dpSize(),
                session.cpSize(),
                create.localReaders()),
            create.coordinates());
    String name = RingAbi.controlName(settings.ringNumber(), create.generation());
    generations.put(
        create.generation(),
        new GenerationFile(parts.context().memory(), parts.directory().file(name), header, waker));
  }

  private void publish(RingCommand.Publish publish) {
    newest().publish(publish.n(), publish.kind(), publish.reason(), publish.text());
    switch (publish.kind()) {
      case ControlDescriptor.KIND_READY -> parts.metrics().stepsPublished.increment();
      case ControlDescriptor.KIND_FAILED -> {
        parts.metrics().stepsFailed.increment();
        parts.say("step failed: ring=" + settings.ringNumber() + ": " + publish.text());
      }
      default -> {}
    }
  }

  private void close(RingCommand.Close close) {
    GenerationFile file = generations.get(close.generation());
    if (file != null) {
      file.close(close.reason());
    }
    machine.onClosed(
        id -> {
          ReaderTap tap = readers.get(id);
          return tap == null ? ReaderTap.NOTHING : tap;
        },
        now());
  }

  private void welcome(RingCommand.Welcome welcome) {
    GenerationFile file = generations.get(welcome.generation());
    ReaderTap tap = readers.get(welcome.reader());
    if (file == null || tap == null) {
      return;
    }
    tap.welcomed(file.header());
    Waiting pending = waiting.remove(welcome.reader());
    StreamDescriptor about = descriptor;
    if (pending == null || about == null) {
      return;
    }
    GenerationHeader header = file.header();
    parts.metrics().attaches.increment();
    answers.accept(
        pending.hello(),
        new Answer.Welcome(
            settings.ringNumber(),
            new UUID(header.generationId().high(), header.generationId().low()),
            file.name(),
            file.lengthBytes(),
            RingAbi.dataName(settings.ringNumber()),
            settings.ringLengthBytes(),
            new Answer.Geometry(
                RingAbi.VERSION,
                settings.descriptorCount(),
                settings.pageSizeBytes(),
                settings.hold(),
                about.dp(),
                about.cp()),
            new Answer.Start(about.streamId(), 0, welcome.firstStep(), welcome.firstN())));
  }

  private void refuse(RingCommand.Refuse refuse) {
    Waiting pending = waiting.remove(refuse.reader());
    if (pending != null) {
      parts.metrics().refusals.increment();
      answers.accept(
          pending.hello(),
          new Answer.Refused(
              RefusalCode.valueOf(refuse.refusal().name()),
              refuse.text(),
              refuse.steps(),
              refuse.bytes(),
              0));
    }
    ReaderTap tap = readers.get(refuse.reader());
    if (tap != null && tap.generation() == null) {
      forget(refuse.reader());
    }
  }

  // ---- end

  /** Tells the ranks that the daemon ends in good order. */
  void shutDown() {
    for (Waiting pending : waiting.values()) {
      answers.accept(
          pending.hello(), new Answer.Refused(RefusalCode.CLOSING, "the daemon is stopping"));
    }
    waiting.clear();
    machine.onEnd(CloseReason.SHUTDOWN, now());
    execute();
  }

  @Override
  public void close() {
    unfollow();
    readers.values().forEach(ReaderTap::close);
    generations.values().forEach(GenerationFile::close);
    waker.close();
  }
}
