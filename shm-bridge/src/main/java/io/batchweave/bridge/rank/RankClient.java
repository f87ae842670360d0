package io.batchweave.bridge.rank;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.memory.LockProbe;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.SharedDirectory;
import io.batchweave.bridge.ring.Id128;
import io.batchweave.bridge.ring.ReaderHeader;
import io.batchweave.bridge.ring.RingAbi;
import io.batchweave.bridge.ring.RingData;
import io.batchweave.bridge.ring.RingStatus;
import io.batchweave.read.Token;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongFunction;
import org.agrona.concurrent.NanoClock;
import org.jspecify.annotations.Nullable;

/**
 * A rank: one step after another, across generations and daemons. Belongs to one platform thread.
 *
 * <p>Leases of former attachments stay valid until released; the client keeps what they need. After
 * any exception the next call asks for the same step again.
 */
public final class RankClient implements AutoCloseable {
  private static final long LOOK_FOR_DAEMON_NS = 5_000_000;

  /** Between Hellos that came to what was closed meanwhile; doubled each time up to the longest. */
  private static final long PAUSE_NS = 5_000_000;

  private static final long LONGEST_PAUSE_NS = 1_000_000_000;

  private final RankContext context;
  private final NativeMemory memory;
  private final NanoClock clock;
  private final Path directory;
  private final SecureRandom random = new SecureRandom();
  private final List<RankRing> former = new ArrayList<>();
  private final List<RingData> dataFiles = new ArrayList<>();
  private @Nullable RankRing ring;
  private Attacher.@Nullable Attached attached;
  private Id128 previous = Id128.NONE;
  private long nextStep;
  private int attachments;
  private boolean closed;

  private RankClient(RankContext context) {
    context.conclude();
    this.context = context;
    this.memory = context.memory();
    this.clock = context.clock();
    this.directory = context.directory();
    this.nextStep = context.nextStep();
  }

  /**
   * Creates a client and attaches it.
   *
   * @param context what to be
   * @param timeoutNs how long to try
   * @throws DaemonLostException when no daemon took it in time
   * @throws BatchWeaveException of the kind of the daemon's refusal
   */
  public static RankClient open(RankContext context, long timeoutNs) {
    RankClient client = new RankClient(context);
    try {
      client.attach(client.clock.nanoTime() + timeoutNs);
      return client;
    } catch (RuntimeException e) {
      client.close();
      throw e;
    }
  }

  /** The step that the next call asks for. */
  public long nextStep() {
    return nextStep;
  }

  /** How often it was attached. */
  public int attachments() {
    return attachments;
  }

  /** Steps taken and not released, those of former attachments included. */
  public int heldCount() {
    int held = ring == null ? 0 : ring.heldCount();
    for (RankRing one : former) {
      held += one.heldCount();
    }
    return held;
  }

  /**
   * The resume position: the same on every rank of the session that stands at the same step. It is
   * behind the last step taken, whatever was prefetched.
   *
   * @throws IllegalStateException before the first attachment
   */
  public Token token() {
    Attacher.Attached known = attached;
    if (known == null) {
      throw new IllegalStateException("not attached yet");
    }
    return new Token(
        new UUID(known.streamId().high(), known.streamId().low()), known.viewVersion(), nextStep);
  }

  /**
   * Registers a model checkpoint that is durable, so that the steps from its position on are kept:
   * from one rank, or from all. Registering it again is no error.
   *
   * @param id its name: 1 to 64 characters of a-z, 0-9 and -
   * @param position the token that the checkpoint holds
   * @param keep how many checkpoints of the group stay, the newest, this one included
   * @param timeoutNs how long to try
   * @return manifest version at which it was seen to be registered
   * @throws DaemonLostException when no daemon decided it in time: ask again
   * @throws BatchWeaveException RECLAIMED when the position is below the horizon, FENCED when the
   *     session is over, CONFIG when a later checkpoint of the session is registered, the position
   *     is beyond the head, or of another stream
   */
  public long checkpointed(String id, Token position, int keep, long timeoutNs) {
    position.requireStream(token().streamId());
    return ask(
        deadlineNs ->
            context
                .attacher()
                .register(
                    context.identity(),
                    new Attacher.Registration(viewVersion(), id, position.nextStep(), keep),
                    deadlineNs),
        timeoutNs);
  }

  /**
   * Asks how the stream stands at its head.
   *
   * @param timeoutNs how long to try
   * @throws DaemonLostException when no daemon answered in time: ask again
   * @throws BatchWeaveException of the kind of the refusal
   */
  public StreamStatus status(long timeoutNs) {
    return ask(
        deadlineNs -> context.attacher().status(context.identity(), viewVersion(), deadlineNs),
        timeoutNs);
  }

  private <T> T ask(LongFunction<T> question, long timeoutNs) {
    requireOpen();
    long deadlineNs = clock.nanoTime() + timeoutNs;
    while (true) {
      awaitDaemon(deadlineNs);
      try {
        return question.apply(deadlineNs);
      } catch (BatchWeaveException e) {
        if (e.kind() != Kind.RETRYABLE) {
          throw e;
        }
        if (clock.nanoTime() - deadlineNs >= 0) {
          throw new DaemonLostException(
              "no daemon answered this rank: " + where() + ": " + e.getMessage(), e);
        }
      }
    }
  }

  private long viewVersion() {
    Attacher.Attached known = attached;
    return known == null ? 0 : known.viewVersion();
  }

  /** What the daemon told at the last attachment; null before the first. */
  public Attacher.@Nullable Attached attached() {
    return attached;
  }

  /**
   * Takes the next step.
   *
   * @param timeoutNs how long to wait for it
   * @return null at the end of the stream
   * @throws StepTimeoutException when it did not come in time
   * @throws DaemonLostException when there is no daemon, or none that runs
   * @throws RingHeldException when leases of this client are in the way
   * @throws BatchWeaveException of the kind of the reason when it can never be served; another call
   *     makes the daemon try again
   */
  public @Nullable StepLease next(long timeoutNs) {
    requireOpen();
    long deadlineNs = clock.nanoTime() + timeoutNs;
    dropFormer();
    while (true) {
      RankRing current = ring == null ? attach(deadlineNs) : ring;
      TakeOutcome outcome = current.take(deadlineNs);
      switch (outcome) {
        case STEP -> {
          nextStep = current.nextStep();
          return current.lease();
        }
        case END -> {
          return null;
        }
        case CLOSED, DAEMON_GONE -> {
          leave(current);
          attach(deadlineNs);
        }
        case FAILED -> {
          BatchWeaveException failure =
              new BatchWeaveException(
                  current.failReason().kind(),
                  "the step cannot be served: " + where() + ": " + current.failureText());
          leave(current); // the next call is another try
          throw failure;
        }
        case RING_HELD -> throw held(current);
        case TIMEOUT -> throw timedOut(current, timeoutNs);
      }
    }
  }

  private RingHeldException held(RankRing current) {
    RingStatus status = current.status();
    int steps = heldCount();
    return new RingHeldException(
        steps,
        status.blockedBytes(),
        "the next step does not fit because this rank holds others: "
            + where()
            + " held="
            + steps
            + " needed="
            + status.blockedBytes()
            + "; release steps sooner, or serve with more --memory or a larger --hold");
  }

  private BatchWeaveException timedOut(RankRing current, long timeoutNs) {
    RingStatus status = current.status();
    String trouble = status.trouble().isEmpty() ? "none" : status.trouble();
    String blocked =
        status.blockedBytes() == 0
            ? ""
            : " blockedStep="
                + status.blockedStep()
                + " blockedBytes="
                + status.blockedBytes()
                + " blockedBy="
                + status.blockedReader();
    String message =
        where() + " waitedMs=" + timeoutNs / 1_000_000 + blocked + " lastTrouble=" + trouble;
    return context.attacher().isResponding()
        ? new StepTimeoutException("the step did not come in time: " + message)
        : new DaemonLostException(
            "the daemon holds its lock but does not run: " + message + "; restart it");
  }

  private String where() {
    return context.identity().describe() + " step=" + nextStep;
  }

  /** Takes nothing more from an attachment; it stays while leases are in it. */
  private void leave(RankRing left) {
    previous = left.id();
    former.add(left);
    left.onClosedDown(this::onClosedDown);
    ring = null;
  }

  private RankRing attach(long deadlineNs) {
    long pauseNs = PAUSE_NS;
    while (true) {
      awaitDaemon(deadlineNs);
      RankRing made = null;
      boolean good = false;
      try {
        made = create();
        Attacher.Attached answer =
            context
                .attacher()
                .attach(
                    new Attacher.Request(
                        context.identity(), made.id(), previous, nextStep, viewVersion()),
                    deadlineNs);
        good = made.attach(answer, newestData());
        remember(made);
        if (good) {
          ring = made;
          attached = answer;
          nextStep = answer.firstStep();
          attachments++;
          former.forEach(RankRing::close); // those without leases give their lock back now
          dropFormer();
          return made;
        }
        leave(made); // gone again already: say Hello anew, with another file
        LockSupport.parkNanos(pauseNs);
        pauseNs = Math.min(2 * pauseNs, LONGEST_PAUSE_NS);
      } catch (BatchWeaveException e) {
        if (e.kind() == Kind.RETRYABLE && clock.nanoTime() - deadlineNs < 0) {
          // A daemon that is ending, with its directory perhaps, or one that is starting and took
          // the reader file, not locked yet, for one that a dead rank left: look for a daemon anew.
          continue;
        }
        throw e.kind() == Kind.RETRYABLE
            ? new DaemonLostException(
                "no daemon took this rank: " + where() + ": " + e.getMessage(), e)
            : e;
      } finally {
        if (made != null && !good && !former.contains(made)) {
          remember(made); // what it had mapped until it failed
          made.close();
        }
      }
    }
  }

  private void awaitDaemon(long deadlineNs) {
    Path lock = directory.resolve(RingAbi.DAEMON_LOCK_NAME);
    while (true) {
      LockProbe probe = LockProbe.open(memory, lock);
      if (probe != null) {
        try (probe) {
          if (probe.isLocked()) {
            return;
          }
        }
      }
      if (clock.nanoTime() - deadlineNs >= 0) {
        throw new DaemonLostException(
            "no daemon serves the directory: "
                + where()
                + " directory="
                + directory
                + "; start batchweave serve there");
      }
      LockSupport.parkNanos(LOOK_FOR_DAEMON_NS);
    }
  }

  private RankRing create() {
    RankIdentity identity = context.identity();
    ReaderHeader header =
        new ReaderHeader(
            new Id128(random.nextLong(), random.nextLong()),
            previous,
            (int) ProcessHandle.current().pid(),
            identity.rank(),
            identity.coordinate(),
            identity.dpSize(),
            identity.cpSize(),
            identity.localReaders());
    return RankRing.create(
        memory, directory, header, SharedDirectory.fileModeForRanks(directory), clock);
  }

  private @Nullable RingData newestData() {
    return dataFiles.isEmpty() ? null : dataFiles.getLast();
  }

  private void remember(RankRing made) {
    RingData data = made.dataFile();
    if (data != null && !dataFiles.contains(data)) {
      dataFiles.add(data);
    }
  }

  /** Forgets attachments whose last lease is released, and data files that nobody uses. */
  private void dropFormer() {
    if (former.isEmpty() && !closed) {
      return;
    }
    former.removeIf(RankRing::isClosedDown);
    for (int i = dataFiles.size() - 1; i >= 0; i--) {
      RingData data = dataFiles.get(i);
      boolean used = ring != null && ring.dataFile() == data;
      for (RankRing one : former) {
        used |= one.dataFile() == data;
      }
      if (!used && (ring != null || closed)) {
        data.close();
        dataFiles.remove(i);
      }
    }
  }

  private void onClosedDown() {
    if (closed) {
      dropFormer(); // nobody else will call any more
    }
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException("the client is closed");
    }
  }

  /**
   * Takes nothing more and gives the lock back. Leases that are still held stay readable; releasing
   * the last one frees the rest.
   */
  @Override
  public void close() {
    if (!closed) {
      closed = true;
      RankRing current = ring;
      if (current != null) {
        leave(current);
      }
      List.copyOf(former).forEach(RankRing::close);
      dropFormer();
      context.attacher().close();
    }
  }
}
