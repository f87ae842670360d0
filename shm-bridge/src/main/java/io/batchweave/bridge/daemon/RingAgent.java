package io.batchweave.bridge.daemon;

import io.batchweave.bridge.daemon.StepSource.Answer.End;
import io.batchweave.bridge.daemon.StepSource.Answer.Known;
import io.batchweave.bridge.daemon.StepSource.Answer.Later;
import io.batchweave.bridge.daemon.StepSource.Answer.Never;
import io.batchweave.bridge.handshake.Answer;
import io.batchweave.bridge.handshake.Hello;
import io.batchweave.bridge.handshake.RefusalCode;
import io.batchweave.bridge.memory.FutexWaiter;
import io.batchweave.bridge.memory.NativeMemoryException;
import io.batchweave.bridge.ring.CloseReason;
import io.batchweave.bridge.ring.ControlDescriptor;
import io.batchweave.bridge.ring.ControlFile;
import io.batchweave.bridge.ring.Coordinate;
import io.batchweave.bridge.ring.GenerationHeader;
import io.batchweave.bridge.ring.Id128;
import io.batchweave.bridge.ring.ReaderFile;
import io.batchweave.bridge.ring.ReaderHello;
import io.batchweave.bridge.ring.RingAbi;
import io.batchweave.bridge.ring.RingCommand;
import io.batchweave.bridge.ring.RingMachine;
import io.batchweave.bridge.ring.RingSettings;
import io.batchweave.bridge.ring.RingStatus;
import io.batchweave.bridge.ring.SessionKey;
import io.batchweave.client.SessionOpening.Opened;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.log.Bits;
import io.batchweave.read.SessionView;
import io.batchweave.read.SlicePlan;
import io.batchweave.store.ObjectStore;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
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
  private static final int MAX_OFFERS_PER_CYCLE = 16;
  private static final int MAX_KNOWN = 16;
  private static final long PROBE_NS = TimeUnit.MILLISECONDS.toNanos(5);
  private static final long STATUS_NS = TimeUnit.MILLISECONDS.toNanos(20);
  private static final long IDLE_FEED_NS = TimeUnit.SECONDS.toNanos(30);

  /** What ranks of one session are served. */
  private record Served(SessionView view, StreamSource source, StreamDescriptor descriptor) {}

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
  private final RingReaders readers;
  private final LinkedHashMap<SessionKey, Served> known = new LinkedHashMap<>();
  private final Map<Long, ControlFile> generations = new HashMap<>();
  private final RingFetches fetches;
  private @Nullable SessionKey feedSession;
  private @Nullable StreamDescriptor descriptor;
  private @Nullable StepSource steps;
  private long foundView;
  private long nextProbeNs;
  private long nextStatusNs;
  private long idleSinceNs;
  private boolean awaitsCommit;
  private String commandTrouble = "";
  private RingStatus lastStatus = RingStatus.IDLE;
  private volatile RingGauges gauges = RingGauges.NONE;

  /**
   * Creates one.
   *
   * @param parts what all rings share
   * @param data the ring's data file
   * @param found what ranks still read of it; null when it is empty
   * @param answers takes the answers to Hellos
   */
  RingAgent(
      DaemonParts parts,
      RingFiles.DataFile data,
      FoundRings.@Nullable Ring found,
      BiConsumer<Hello, Answer> answers) {
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
    this.machine =
        found == null
            ? new RingMachine(settings, 0)
            : RingMachine.takeOver(settings, found.found(), now());
    this.fetches = new RingFetches(parts, data, machine, this::execute);
    // A bound at or above the ring is no bound: what does not fit is the machine's to say.
    this.prefetchBytes =
        context.prefetchBytes() < settings.ringLengthBytes()
            ? context.prefetchBytes()
            : Long.MAX_VALUE;
    this.readers = new RingReaders(context.memory(), parts.directory().path(), answers);
    this.waker = found == null ? context.memory().newWaiter() : found.waker();
    this.bits = new Bits(context.seed() + data.header().number());
    this.idleSinceNs = now();
    if (found != null) {
      adopt(found);
    }
  }

  private void adopt(FoundRings.Ring found) {
    found.generations().forEach(file -> generations.put(file.header().generation(), file));
    foundView = found.generations().getLast().header().session().sessionVersion();
    found.readers().forEach(readers::adopt);
    RingStatus status = machine.status("");
    SessionKey session = machine.session();
    parts.say(
        "goes on with what ranks read: ring="
            + settings.ringNumber()
            + " session="
            + (session == null ? "none" : session.session())
            + " readers="
            + found.readers().size()
            + " steps="
            + status.allocatedCount()
            + " bytes="
            + status.usedBytes());
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
    return readers.contains(reader);
  }

  /** For the metrics; from any thread. */
  RingGauges gauges() {
    return gauges;
  }

  // ---- Hello

  /** A Hello whose form, stream and session were found good. */
  void onHello(
      Hello hello, SessionKey session, Opened launch, StreamSource from, StreamDescriptor about) {
    Id128 id = Id128.parse(hello.readerFile().substring(0, 32));
    Answer.Refused refused = HelloCheck.launch(hello, launch);
    if (refused == null) {
      refused = readers.open(hello, id);
    }
    if (refused != null) {
      parts.metrics().refusals.increment();
      answers.accept(hello, refused);
      return;
    }
    remember(session, new Served(launch.view(), from, about));
    readers.expectAnswer(id, hello, now());
    List<Coordinate> coordinates = coordinates(hello, about);
    long wanted = launch.view().next(HelloCheck.wantedStep(hello, launch.session().startStep()));
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
      follow(session);
    }
    execute();
  }

  private void remember(SessionKey session, Served served) {
    known.remove(session);
    known.put(session, served);
    if (known.size() > MAX_KNOWN) {
      known.remove(known.firstEntry().getKey());
    }
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

  /** Reads for a session from now on, if ranks of it said Hello here. */
  private void follow(SessionKey session) {
    Served served = known.get(session);
    if (served != null && !session.equals(feedSession)) {
      unfollow();
      feedSession = session;
      descriptor = served.descriptor();
      steps =
          new StepSource(
              parts.newFeed(served.source(), session.group(), served.view().version()),
              served.descriptor().grid(),
              served.view());
    }
  }

  /** Manifest version that is the session's view. */
  private long viewVersion() {
    StepSource open = steps;
    return open == null ? foundView : open.view().version();
  }

  /** Whether a newer launch of the group has taken over, on whatever node. */
  boolean isOvertaken() {
    StepSource open = steps;
    return open != null && !open.feed().newerLaunch().isEmpty() && isServing();
  }

  /** Serves the session no longer: its ranks are told when they say Hello. */
  void endSession() {
    machine.onEnd(now());
    execute();
  }

  private void unfollow() {
    StepSource open = steps;
    if (open != null) {
      open.feed().close();
    }
    steps = null;
    feedSession = null;
  }

  // ---- duty cycle

  /** Looks at everything once. */
  int doWork() {
    long now = now();
    int work = readReaders(now);
    if (now - machine.wakeAtNs() >= 0 && machine.wakeAtNs() != Long.MAX_VALUE) {
      machine.onTime(now);
    }
    work += fetches.tellVerdicts();
    work += offerSteps();
    work += execute();
    work += fetches.startWaiting(steps, store());
    readers.answerNotYet(now, this::whatIsAwaited);
    publishStatus(now);
    closeIdleFeed(now);
    return work;
  }

  /**
   * Whether nobody waits for anything but a commit, of which the log tells, after the last duty
   * cycle: then another one changes nothing unless somebody has called or died.
   */
  boolean isQuiet() {
    boolean isDeserted = machine.session() == null && readers.list().isEmpty();
    return (isDeserted || awaitsCommit)
        && commands.isEmpty()
        && fetches.isIdle()
        && !readers.isAnyWaiting()
        && trouble().isEmpty();
  }

  /** Looks now, not at the next probe, which ranks are gone. */
  void noticeGone() {
    nextProbeNs = now();
    readReaders(nextProbeNs);
  }

  private int readReaders(long now) {
    int work = 0;
    boolean probe = now - nextProbeNs >= 0;
    if (probe) {
      nextProbeNs = now + PROBE_NS;
    }
    List<ReaderFile> looked = readers.list();
    for (int i = 0; i < looked.size(); i++) {
      ReaderFile file = looked.get(i);
      if (readers.find(file.id()) != file) {
        continue; // dropped a moment ago, with another one
      }
      if (probe && !file.isLocked()) {
        parts.metrics().readersLost.increment();
        gone(file);
        work++;
      } else {
        machine.onReader(file.id(), file);
        countStall(file);
      }
    }
    return work;
  }

  private void gone(ReaderFile file) {
    machine.onReaderGone(file.id(), now());
    execute();
    // The machine forgets ranks it knew; one that it never took is forgotten here.
    if (readers.find(file.id()) == file) {
      readers.drop(file.id());
    }
  }

  private void countStall(ReaderFile file) {
    if (file.startsToWait(lastStatus.publishedCount())) {
      parts.metrics().stalls.increment();
    }
  }

  private int offerSteps() {
    awaitsCommit = false;
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
          awaitsCommit = true;
          return offered;
        }
        case End end -> machine.onEndOfStream(wanted);
        case Never never -> machine.onStepFailed(wanted, never.reason(), never.text());
        case Known known -> {
          RingStatus stands = machine.status("");
          long length = regionLength(known.plan());
          // A rank that has taken all there is does not wait for the bound on prefetching: the step
          // is offered, so that either it comes or the status says whose leases are in the way.
          if (stands.usedBytes() > 0
              && stands.usedBytes() + length > prefetchBytes
              && !readers.isAnyOutOfSteps(stands.allocatedCount())) {
            return offered;
          }
          machine.onStep(wanted, open.view().next(wanted + 1), length);
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

  private @Nullable ObjectStore store() {
    StepSource open = steps;
    return open == null ? null : open.feed().source().store();
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
    ControlFile open = generations.get(machine.generation());
    if (open != null) {
      open.status(status);
    }
    lastStatus = status;
    StepSource follows = steps;
    SessionKey session = machine.session();
    gauges =
        new RingGauges(
            settings.ringNumber(),
            follows == null ? "" : follows.feed().source().url(),
            session == null ? "" : session.group(),
            session == null ? "" : session.session(),
            machine.memberCount(),
            machine.generation(),
            settings.ringLengthBytes(),
            follows == null ? -1 : follows.feed().headStep(),
            status);
  }

  private void closeIdleFeed(long now) {
    if (isServing() || readers.isAnyWaiting()) {
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
      case RingCommand.DropReader drop -> readers.drop(drop.reader());
      case RingCommand.DropControl drop -> {
        ControlFile file = generations.remove(drop.generation());
        if (file != null) {
          file.unlink();
          file.close();
        }
      }
    }
  }

  private ControlFile newest() {
    ControlFile file = generations.get(machine.generation());
    if (file == null) {
      throw new IllegalStateException("no control file: generation=" + machine.generation());
    }
    return file;
  }

  private void create(RingCommand.Create create) {
    SessionKey session = create.session();
    follow(session); // it may have waited for the generation of another one to close
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
                viewVersion(),
                session.dpSize(),
                session.cpSize(),
                create.localReaders()),
            create.coordinates());
    generations.put(
        create.generation(),
        ControlFile.create(
            parts.context().memory(),
            parts.directory().path(),
            header,
            parts.directory().fileMode(),
            waker));
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
    ControlFile file = generations.get(close.generation());
    if (file != null) {
      file.closeGeneration(close.reason());
    }
    machine.onClosed(readers::view, now());
  }

  private void welcome(RingCommand.Welcome welcome) {
    ControlFile file = generations.get(welcome.generation());
    ReaderFile reader = readers.find(welcome.reader());
    StreamDescriptor about = descriptor;
    if (file == null || reader == null) {
      return;
    }
    reader.expect(file.header());
    if (about != null && readers.answer(reader.id(), () -> welcome(welcome, file, about))) {
      parts.metrics().attaches.increment();
    }
  }

  private Answer.Welcome welcome(
      RingCommand.Welcome welcome, ControlFile file, StreamDescriptor about) {
    UUID generation =
        new UUID(file.header().generationId().high(), file.header().generationId().low());
    return new Answer.Welcome(
        settings.ringNumber(),
        generation,
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
        new Answer.Start(about.streamId(), viewVersion(), welcome.firstStep(), welcome.firstN()));
  }

  private void refuse(RingCommand.Refuse refuse) {
    Answer refused =
        new Answer.Refused(
            RefusalCode.valueOf(refuse.refusal().name()),
            refuse.text(),
            refuse.steps(),
            refuse.bytes(),
            0);
    if (readers.answer(refuse.reader(), () -> refused)) {
      parts.metrics().refusals.increment();
    }
    ReaderFile file = readers.find(refuse.reader());
    if (file != null && file.generation() == null) {
      readers.forget(refuse.reader());
    }
  }

  // ---- end

  /**
   * Tells the ranks that the daemon ends in good order. The machine is not asked: what it would let
   * go of now, the next daemon needs to go on where this one stops.
   */
  void shutDown() {
    readers.answerClosing();
    for (ControlFile file : generations.values()) {
      if (file.isOpen()) {
        file.closeGeneration(CloseReason.SHUTDOWN);
      }
    }
  }

  @Override
  public void close() {
    unfollow();
    readers.close();
    generations.values().forEach(ControlFile::close);
    waker.close();
  }
}
