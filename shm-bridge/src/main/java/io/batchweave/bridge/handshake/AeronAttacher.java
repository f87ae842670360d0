package io.batchweave.bridge.handshake;

import io.aeron.CncFileDescriptor;
import io.aeron.CommonContext;
import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.rank.Attacher;
import io.batchweave.bridge.rank.RankIdentity;
import io.batchweave.bridge.rank.StreamStatus;
import io.batchweave.bridge.ring.Id128;
import io.batchweave.bridge.ring.RingAbi;
import io.batchweave.format.Block;
import io.batchweave.format.Grid;
import java.io.File;
import java.nio.file.Path;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.agrona.concurrent.NanoClock;

/**
 * Attaches Java ranks by the handshake of this package. While the daemon says that it is stopping,
 * the next one is looked for until the deadline.
 */
public final class AeronAttacher implements Attacher {
  private static final long RESPONSE_MILLIS = 2_000;
  private static final long LOOK_AGAIN_NS = TimeUnit.MILLISECONDS.toNanos(50);

  private final Path daemonDirectory;
  private final NanoClock clock;
  private final Bytes token;
  private final Block.Takeover takeover;
  private final HandshakeClient client;

  /**
   * Creates one; connects to nothing.
   *
   * @param memory the system
   * @param daemonDirectory the daemon directory
   * @param clock monotonic time; deadlines are on it
   * @param token resume token, empty for none
   * @param takeover what the session does to a live one of its group
   */
  public AeronAttacher(
      NativeMemory memory,
      Path daemonDirectory,
      NanoClock clock,
      Bytes token,
      Block.Takeover takeover) {
    this.daemonDirectory = daemonDirectory;
    this.clock = clock;
    this.token = token;
    this.takeover = takeover;
    this.client = new HandshakeClient(memory, daemonDirectory, clock);
  }

  @Override
  public Attached attach(Attacher.Request request, long deadlineNs) {
    Answer answer = ask(hello(request), deadlineNs);
    if (answer instanceof Answer.Welcome welcome) {
      return attached(welcome);
    }
    throw unexpected(answer);
  }

  /** Asks until the answer is final. */
  private Answer ask(io.batchweave.bridge.handshake.Request request, long deadlineNs) {
    while (true) {
      Answer answer = client.ask(request, deadlineNs);
      if (!(answer instanceof Answer.Refused refused)) {
        return answer;
      }
      if (refused.code() != RefusalCode.CLOSING || clock.nanoTime() - deadlineNs >= 0) {
        throw new BatchWeaveException(refused.code().kind(), refused.text());
      }
      LockSupport.parkNanos(LOOK_AGAIN_NS);
    }
  }

  private static BatchWeaveException unexpected(Answer answer) {
    return new BatchWeaveException(
        Kind.CORRUPT, "the daemon answered something else: " + answer + "; install one version");
  }

  @Override
  public long register(RankIdentity identity, Registration registration, long deadlineNs) {
    Answer answer =
        ask(
            new Checkpoint(
                0,
                0,
                RingAbi.VERSION,
                identity.stream(),
                identity.group(),
                identity.session(),
                registration.viewVersion(),
                registration.id(),
                registration.step(),
                registration.keep()),
            deadlineNs);
    if (answer instanceof Answer.Registered registered) {
      return registered.version();
    }
    throw unexpected(answer);
  }

  @Override
  public StreamStatus status(RankIdentity identity, long viewVersion, long deadlineNs) {
    Answer answer =
        ask(
            new Question(
                0,
                0,
                RingAbi.VERSION,
                identity.stream(),
                identity.group(),
                identity.session(),
                viewVersion),
            deadlineNs);
    if (answer instanceof Answer.Status status) {
      return new StreamStatus(
          status.nextStep(),
          status.horizon(),
          status.sealed(),
          status.startStep(),
          status.sessionSteps());
    }
    throw unexpected(answer);
  }

  private Hello hello(Attacher.Request request) {
    RankIdentity identity = request.identity();
    Id128 previous = request.previous();
    return new Hello(
        0,
        0,
        RingAbi.VERSION,
        identity.stream(),
        identity.group(),
        identity.session(),
        new Hello.RankShape(
            identity.coordinate().dp(),
            identity.dpSize(),
            identity.coordinate().cp(),
            identity.cpSize(),
            identity.localReaders()),
        request.nextStep() == NO_STEP ? Hello.NO_STEP : request.nextStep(),
        request.viewVersion(),
        takeover,
        new Hello.Sender(identity.rank(), (int) ProcessHandle.current().pid(), ClientKind.JAVA),
        RingAbi.readerName(request.reader()),
        previous.equals(Id128.NONE) ? "" : RingAbi.readerName(previous),
        token);
  }

  private static Attached attached(Answer.Welcome welcome) {
    Answer.Geometry geometry = welcome.geometry();
    return new Attached(
        welcome.controlFile(),
        welcome.dataFile(),
        id(welcome.generation()),
        welcome.start().index(),
        welcome.start().step(),
        id(welcome.start().streamId()),
        welcome.start().viewVersion(),
        new Grid(geometry.gridDp(), geometry.gridCp()));
  }

  private static Id128 id(UUID uuid) {
    return new Id128(uuid.getMostSignificantBits(), uuid.getLeastSignificantBits());
  }

  @Override
  public boolean isResponding() {
    File aeron = daemonDirectory.resolve(HandshakeProtocol.AERON_DIRECTORY).toFile();
    // Without that file, or while it is empty, the daemon is only just starting.
    return new File(aeron, CncFileDescriptor.CNC_FILE).length() == 0
        || CommonContext.isDriverActive(aeron, RESPONSE_MILLIS, ignored -> {});
  }

  @Override
  public void close() {}
}
