package io.batchweave.bridge.daemon;

import io.batchweave.BatchWeaveException;
import io.batchweave.bridge.handshake.Answer;
import io.batchweave.bridge.handshake.HandshakeServer;
import io.batchweave.bridge.handshake.Hello;
import io.batchweave.bridge.handshake.RefusalCode;
import io.batchweave.bridge.handshake.Request;
import io.batchweave.bridge.memory.RingAllocation;
import io.batchweave.bridge.ring.Id128;
import io.batchweave.bridge.ring.SessionKey;
import io.batchweave.client.SessionOpening.Opened;
import io.batchweave.format.Block;
import io.batchweave.format.StreamDescriptor;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.AgentTerminationException;
import org.jspecify.annotations.Nullable;

/**
 * The daemon's one thread: media driver, handshake, rings, completions of fetches. Gives each
 * session a ring.
 */
final class DaemonAgent implements Agent {
  private static final int MAX_SUPERSEDED = 256;
  private static final int NOT_OPEN_RETRY_MILLIS = 200;
  private static final long SWEEP_NS = TimeUnit.SECONDS.toNanos(5);
  private static final long GOODBYE_NS = TimeUnit.MILLISECONDS.toNanos(100);

  private final DaemonParts parts;
  private final List<StreamSource> sources;
  private final DoorbellIdleStrategy doorbell;
  private final HandshakeServer handshake;
  private final List<RingAgent> rings = new ArrayList<>();
  private final Launches launches;
  private final Errands errands;
  private final Set<SessionKey> superseded = new HashSet<>();
  private final ArrayDeque<SessionKey> supersededOrder = new ArrayDeque<>();
  private final RingAllocation spareAllocation;
  private long nextSweepNs;

  DaemonAgent(
      DaemonParts parts,
      List<StreamSource> sources,
      RingFiles files,
      FoundRings found,
      DoorbellIdleStrategy doorbell) {
    this.parts = parts;
    this.sources = sources;
    this.doorbell = doorbell;
    DaemonContext context = parts.context();
    this.handshake =
        new HandshakeServer(
            context.memory(),
            parts.directory().aeronDirectory(),
            context.nanoClock(),
            context.epochClock(),
            this::onError,
            this::onRequest);
    this.spareAllocation = RingFiles.allocation(context);
    if (found.numbers().isEmpty()) {
      parts.directory().keepSpare(spareAllocation);
    } // else the room is for the ranks that come back now
    this.launches = new Launches(parts, this::onLive, this::refuse);
    this.errands = new Errands(parts, handshake::answer);
    this.nextSweepNs = context.nanoClock().nanoTime() + SWEEP_NS;
    for (RingFiles.DataFile file : files.files()) {
      rings.add(new RingAgent(parts, file, found.take(file.header().number()), handshake::answer));
    }
    doorbell.quietWhile(this::isQuiet);
  }

  /** For the metrics; from any thread. */
  List<RingGauges> gauges() {
    return rings.stream().map(RingAgent::gauges).toList();
  }

  private void onError(Throwable error) {
    parts.metrics().handshakeErrors.increment();
  }

  @Override
  public String roleName() {
    return "batchweave-daemon";
  }

  @Override
  public int doWork() {
    doorbell.beforeDutyCycle();
    int work;
    try {
      work = handshake.doWork();
      if (work > 0) {
        doorbell.expectTalk();
      }
    } catch (BatchWeaveException dead) {
      parts.say("the daemon stops: " + dead.getMessage());
      throw new AgentTerminationException(dead);
    }
    work += parts.fetcher().doWork();
    work += launches.doWork();
    work += errands.doWork();
    for (RingAgent ring : rings) {
      work += ring.doWork();
    }
    endOvertaken();
    sweep();
    return work;
  }

  /** Whether nothing here waits for the time to pass, as of the last duty cycle. */
  private boolean isQuiet() {
    return handshake.isSilent()
        && launches.isIdle()
        && errands.isIdle()
        && rings.stream().allMatch(RingAgent::isQuiet);
  }

  private void sweep() {
    long now = parts.context().nanoClock().nanoTime();
    if (now - nextSweepNs >= 0) {
      nextSweepNs = now + SWEEP_NS;
      parts.directory().keepSpare(spareAllocation);
      parts.directory().sweep(reader -> rings.stream().anyMatch(ring -> ring.knows(reader)));
    }
  }

  // ---- Hello

  private void onRequest(Request request) {
    Answer.Refused refused = request instanceof Hello hello ? decide(hello) : decideErrand(request);
    if (refused != null) {
      refuse(request, refused);
    }
  }

  private void refuse(Request request, Answer.Refused refused) {
    if (refused.code() != RefusalCode.NOT_YET) {
      parts.metrics().refusals.increment();
    }
    handshake.answer(request, refused);
  }

  /** Has the log asked, or says why not. */
  private Answer.@Nullable Refused decideErrand(Request request) {
    Answer.Refused malformed = HelloCheck.errand(request);
    if (malformed != null) {
      return malformed;
    }
    StreamSource source = sourceOf(request.stream());
    if (source == null || source.descriptor() == null) {
      return unread(request, source);
    }
    errands.onRequest(request, source);
    return null;
  }

  /** Why the stream cannot be read, or not yet. */
  private Answer.Refused unread(Request request, @Nullable StreamSource source) {
    if (source == null) {
      return new Answer.Refused(
          RefusalCode.UNKNOWN_STREAM,
          "this daemon does not serve that stream: stream="
              + request.stream()
              + " served="
              + String.join(",", sources.stream().map(StreamSource::url).toList()));
    }
    return source.isFailed()
        ? new Answer.Refused(RefusalCode.STREAM_FAILED, source.trouble())
        : Answer.Refused.notYet(source.trouble(), NOT_OPEN_RETRY_MILLIS);
  }

  /** Has the Hello's launch looked up, or says why not. */
  private Answer.@Nullable Refused decide(Hello hello) {
    Answer.Refused malformed = HelloCheck.form(hello);
    if (malformed != null) {
      return malformed;
    }
    StreamSource source = sourceOf(hello.stream());
    StreamDescriptor descriptor = source == null ? null : source.descriptor();
    if (source == null || descriptor == null) {
      return unread(hello, source);
    }
    Answer.Refused unreadable = HelloCheck.stream(hello, descriptor);
    if (unreadable != null) {
      return unreadable;
    }
    SessionKey session = sessionOf(hello, descriptor);
    Answer.Refused elsewhere = place(hello, session) instanceof Place.None none ? none.why() : null;
    if (elsewhere == null) {
      // Nothing is registered that this node could not serve.
      launches.onHello(hello, session, source);
    }
    return elsewhere;
  }

  private static SessionKey sessionOf(Hello hello, StreamDescriptor descriptor) {
    return new SessionKey(
        new Id128(
            descriptor.streamId().getMostSignificantBits(),
            descriptor.streamId().getLeastSignificantBits()),
        hello.group(),
        hello.session(),
        hello.shape().dpSize(),
        hello.shape().cpSize());
  }

  private @Nullable StreamSource sourceOf(String name) {
    for (StreamSource source : sources) {
      if (source.isNamed(name)) {
        return source;
      }
    }
    return null;
  }

  /** Gives a Hello whose launch is live to its ring. */
  private void onLive(Hello hello, SessionKey session, StreamSource source, Opened launch) {
    StreamDescriptor descriptor = source.descriptor();
    switch (place(hello, session)) {
      case Place.None none -> refuse(hello, none.why());
      case Place.Ring chosen when descriptor != null -> {
        RingAgent ring = chosen.ring();
        SessionKey before = ring.session();
        boolean takesOver =
            before != null && isSameGroup(before, session) && !isSameLaunch(before, session);
        takesOver &= ring.isServing();
        ring.onHello(hello, session, launch, source, descriptor);
        if (takesOver && before != null && session.equals(ring.session())) {
          supersede(before);
        }
      }
      case Place.Ring chosen -> throw new IllegalStateException("no descriptor: " + chosen);
    }
  }

  /** Where a session goes on this node. */
  private sealed interface Place {
    /** To a ring: its own, that of the launch it supersedes, or a free one. */
    record Ring(RingAgent ring) implements Place {}

    /** Nowhere. */
    record None(Answer.Refused why) implements Place {}
  }

  private Place place(Hello hello, SessionKey session) {
    Place place = placeNow(hello, session);
    if (place instanceof Place.None) {
      // Ranks that have ended a moment ago may be all that is in the way.
      rings.forEach(RingAgent::noticeGone);
      place = placeNow(hello, session);
    }
    return place;
  }

  private Place placeNow(Hello hello, SessionKey session) {
    if (superseded.contains(session)) {
      return none(
          RefusalCode.SUPERSEDED,
          "a newer session of the group has taken over: " + hello.describe() + "; stop");
    }
    RingAgent free = null;
    RingAgent ofGroup = null;
    for (RingAgent ring : rings) {
      SessionKey served = ring.session();
      if (served != null && isSameLaunch(served, session)) {
        return new Place.Ring(ring);
      }
      if (served != null && ring.isServing()) {
        ofGroup = isSameGroup(served, session) ? ring : ofGroup;
      } else if (free == null) {
        free = ring;
      }
    }
    if (ofGroup != null && hello.takeover() == Block.Takeover.REFUSE) {
      return none(
          RefusalCode.SESSION_LIVE,
          "another session of the group lives on this node: "
              + hello.describe()
              + "; end it, or let this one supersede it");
    }
    RingAgent chosen = ofGroup == null ? free : ofGroup;
    return chosen != null
        ? new Place.Ring(chosen)
        : none(
            RefusalCode.NO_RING,
            "every ring serves another session: rings="
                + rings.size()
                + " "
                + hello.describe()
                + "; serve with --rings "
                + (rings.size() + 1));
  }

  private static Place none(RefusalCode code, String text) {
    return new Place.None(new Answer.Refused(code, text));
  }

  private static boolean isSameGroup(SessionKey one, SessionKey other) {
    return one.streamId().equals(other.streamId()) && one.group().equals(other.group());
  }

  private static boolean isSameLaunch(SessionKey one, SessionKey other) {
    return isSameGroup(one, other) && one.session().equals(other.session());
  }

  /** Ends what newer launches have taken over on other nodes. */
  private void endOvertaken() {
    for (RingAgent ring : rings) {
      SessionKey served = ring.session();
      if (served != null && ring.isOvertaken()) {
        supersede(served);
        ring.endSession();
      }
    }
  }

  private void supersede(SessionKey session) {
    launches.forget(session);
    if (superseded.add(session)) {
      supersededOrder.add(session);
      parts.say("session superseded: group=" + session.group() + " session=" + session.session());
      if (supersededOrder.size() > MAX_SUPERSEDED) {
        superseded.remove(supersededOrder.remove());
      }
    }
  }

  // ---- end

  @Override
  public void onClose() {
    rings.forEach(RingAgent::shutDown);
    long untilNs = parts.context().nanoClock().nanoTime() + GOODBYE_NS;
    while (handshake.answersInFlight() > 0
        && parts.context().nanoClock().nanoTime() - untilNs < 0) {
      handshake.doWork();
      Thread.onSpinWait();
    }
    parts.fetcher().close();
    rings.forEach(RingAgent::close);
    handshake.close();
  }
}
