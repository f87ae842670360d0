package io.batchweave.bridge.daemon;

import io.batchweave.bridge.handshake.Answer;
import io.batchweave.bridge.handshake.HandshakeProtocol;
import io.batchweave.bridge.handshake.Hello;
import io.batchweave.bridge.ring.Id128;
import io.batchweave.bridge.ring.SessionKey;
import io.batchweave.client.SessionOpening.Opened;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The launches that ranks of this node belong to, and the Hellos that wait until theirs is
 * registered. One thread.
 */
final class Launches {
  /** Takes a Hello whose launch is live. */
  @FunctionalInterface
  interface Handler {
    /** Called on the agent's thread. */
    void onLive(Hello hello, SessionKey session, StreamSource source, Opened opened);
  }

  private static final int MAX_LAUNCHES = 256;
  private static final int RETRY_MILLIS = 50;

  /** One launch, whatever sizes its ranks announce. */
  private record Name(Id128 streamId, String group, String session) {
    static Name of(SessionKey session) {
      return new Name(session.streamId(), session.group(), session.session());
    }
  }

  /** A Hello that was not answered yet. */
  private record Waiting(Hello hello, SessionKey session, StreamSource source, long untilNs) {}

  private final DaemonParts parts;
  private final Handler handler;
  private final BiConsumer<Hello, Answer.Refused> refuse;
  private final LinkedHashMap<Name, Launch> launches = new LinkedHashMap<>();

  /** By reader file: a later attempt takes the place of an earlier one. */
  private final Map<String, Waiting> waiting = new LinkedHashMap<>();

  Launches(DaemonParts parts, Handler handler, BiConsumer<Hello, Answer.Refused> refuse) {
    this.parts = parts;
    this.handler = handler;
    this.refuse = refuse;
  }

  /** Hands the Hello on as soon as its launch is live, or answers it. */
  void onHello(Hello hello, SessionKey session, StreamSource source) {
    Name name = Name.of(session);
    if (!launches.containsKey(name)) {
      launches.put(name, new Launch(parts, source, hello));
      forgetEldest();
    }
    waiting.put(
        hello.readerFile(),
        new Waiting(
            hello,
            session,
            source,
            parts.context().nanoClock().nanoTime() + HandshakeProtocol.HOLD_NS));
    doWork();
  }

  /** The log is asked again about what is forgotten, so nothing but time is lost. */
  private void forgetEldest() {
    if (launches.size() > MAX_LAUNCHES) {
      launches.remove(launches.firstEntry().getKey());
    }
  }

  /** The launch is over: whoever names it again has the log asked. */
  void forget(SessionKey session) {
    launches.remove(Name.of(session));
  }

  /** Whether no Hello waits here. */
  boolean isIdle() {
    return waiting.isEmpty();
  }

  /** Looks at everything that waits. */
  int doWork() {
    if (waiting.isEmpty()) {
      return 0;
    }
    int work = 0;
    long now = parts.context().nanoClock().nanoTime();
    for (Waiting each : List.copyOf(waiting.values())) {
      Launch launch = launches.get(Name.of(each.session()));
      // A refusal is told to all that waited for it, and then forgotten: the next Hello may differ.
      boolean settled = launch != null && settle(each, launch);
      if (settled) {
        work++;
      } else if (launch == null || now - each.untilNs() >= 0) {
        waiting.remove(each.hello().readerFile());
        refuse.accept(each.hello(), Answer.Refused.notYet(status(launch), RETRY_MILLIS));
        work++;
      }
    }
    launches.values().removeIf(launch -> launch.standing() instanceof Launch.Standing.Failed);
    return work;
  }

  private static String status(@Nullable Launch launch) {
    return launch != null && launch.standing() instanceof Launch.Standing.Opening opening
        ? opening.status()
        : "the session is looked up again";
  }

  private boolean settle(Waiting each, Launch launch) {
    switch (launch.standing()) {
      case Launch.Standing.Opening opening -> {
        return false;
      }
      case Launch.Standing.Failed failed -> {
        waiting.remove(each.hello().readerFile());
        refuse.accept(each.hello(), failed.refused());
      }
      case Launch.Standing.Live live -> {
        waiting.remove(each.hello().readerFile());
        try {
          handler.onLive(each.hello(), each.session(), each.source(), live.opened());
        } catch (RuntimeException | Error defect) {
          // Silence would tell the rank nothing until its deadline.
          refuse.accept(
              each.hello(),
              Answer.Refused.notYet("the daemon could not attach it: " + defect, RETRY_MILLIS));
          throw defect;
        }
      }
    }
    return true;
  }
}
