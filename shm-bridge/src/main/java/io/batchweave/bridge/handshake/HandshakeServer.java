package io.batchweave.bridge.handshake;

import io.aeron.Aeron;
import io.aeron.CncFileDescriptor;
import io.aeron.ExclusivePublication;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.logbuffer.FragmentHandler;
import io.aeron.logbuffer.FrameDescriptor;
import io.aeron.logbuffer.Header;
import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.memory.FileAccess;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.NativeMemoryException;
import io.batchweave.bridge.memory.SharedFile;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.MappedByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.agrona.CloseHelper;
import org.agrona.DirectBuffer;
import org.agrona.ErrorHandler;
import org.agrona.ExpandableArrayBuffer;
import org.agrona.IoUtil;
import org.agrona.concurrent.AgentInvoker;
import org.agrona.concurrent.EpochClock;
import org.agrona.concurrent.NanoClock;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.ringbuffer.ManyToOneRingBuffer;
import org.jspecify.annotations.Nullable;

/**
 * The daemon's side of the handshake: the embedded media driver and the daemon's own client, both
 * run by whoever calls {@link #doWork}. Everything happens on that thread; nothing here starts one.
 *
 * <p>Must be opened under {@code daemon.lock} only: it deletes the Aeron directory it finds.
 */
public final class HandshakeServer implements AutoCloseable {
  private static final long LIVENESS_NS = TimeUnit.MILLISECONDS.toNanos(750);
  private static final long UNBLOCK_NS = TimeUnit.SECONDS.toNanos(1);
  private static final long TIMER_NS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final long OPEN_NS = TimeUnit.SECONDS.toNanos(5);
  private static final long NO_DRIVER_TIMEOUT_MILLIS = TimeUnit.DAYS.toMillis(3_650);
  private static final int TERM_BYTES = 64 << 10;
  private static final int COUNTERS_BYTES = 1 << 20;
  private static final int LOSS_REPORT_BYTES = 1 << 20;

  /** The files of the driver (12 MiB) and the logs of the first ranks. */
  private static final long ROOM_BYTES = 16L << 20;

  private static final int FRAGMENTS_PER_POLL = 16;
  private static final int MAX_ANSWERS = 1_024;
  private static final int DEFECT_RETRY_MILLIS = 200;

  private final RequestHandler handler;
  private final ErrorHandler errors;
  private final ClampedClock clock;
  private final HandshakeCodec codec = new HandshakeCodec();
  private final ExpandableArrayBuffer message =
      new ExpandableArrayBuffer(HandshakeProtocol.MAX_MESSAGE_BYTES);
  private final FragmentHandler onFragment = this::onFragment;
  private final List<PendingAnswer> answers = new ArrayList<>();
  private final MediaDriver driver;
  private final AgentInvoker driverInvoker;
  private final Aeron aeron;
  private final AgentInvoker clientInvoker;
  private final Subscription hellos;
  private final MappedByteBuffer cnc;
  private final CommandRingWatch commandRing;

  /**
   * Starts the driver and listens.
   *
   * @param memory the system
   * @param aeronDirectory deleted if it is there
   * @param nanoClock monotonic time
   * @param epochClock wall clock, as the ranks see it
   * @param errors told of what Aeron could not do; must not throw
   * @param handler told of every request
   * @throws BatchWeaveException CONFIG when the driver's files do not fit
   */
  public HandshakeServer(
      NativeMemory memory,
      Path aeronDirectory,
      NanoClock nanoClock,
      EpochClock epochClock,
      ErrorHandler errors,
      RequestHandler handler) {
    this.handler = handler;
    this.errors = errors;
    this.clock = new ClampedClock(nanoClock, epochClock);
    requireRoom(memory, aeronDirectory);
    @Nullable MediaDriver openedDriver = null;
    @Nullable Aeron openedClient = null;
    @Nullable MappedByteBuffer openedCnc = null;
    try {
      openedDriver = MediaDriver.launch(driverContext(aeronDirectory));
      driverInvoker = openedDriver.sharedAgentInvoker();
      openedCnc =
          IoUtil.mapExistingFile(
              new File(aeronDirectory.toFile(), CncFileDescriptor.CNC_FILE), "cnc");
      commandRing = new CommandRingWatch(commandRing(openedCnc), driverInvoker);
      openedClient = Aeron.connect(clientContext(aeronDirectory));
      clientInvoker = openedClient.conductorAgentInvoker();
      clientInvoker.start();
      driver = openedDriver;
      aeron = openedClient;
      cnc = openedCnc;
      hellos = awaitSubscription(nanoClock);
    } catch (Throwable failed) {
      CloseHelper.quietCloseAll(openedClient, openedDriver);
      if (openedCnc != null) {
        IoUtil.unmap(openedCnc);
      }
      throw failed;
    }
  }

  /**
   * Aeron maps its files as holes and then touches them, which on a full file system is a SIGBUS:
   * so the room is really allocated for a moment. The driver deletes the directory when it starts.
   */
  private static void requireRoom(NativeMemory memory, Path aeronDirectory) {
    try {
      Files.createDirectories(aeronDirectory);
      Path room = aeronDirectory.resolve("room");
      Files.deleteIfExists(room);
      try (SharedFile file = memory.open(room, FileAccess.CREATE)) {
        allocateRoom(memory, file, aeronDirectory);
      } finally {
        Files.deleteIfExists(room);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void allocateRoom(NativeMemory memory, SharedFile file, Path aeronDirectory) {
    try {
      file.allocateNew(ROOM_BYTES, 0600);
    } catch (NativeMemoryException full) {
      if (full.kind() != Kind.LIMIT) {
        throw full;
      }
      throw new BatchWeaveException(
          Kind.CONFIG,
          "the files of the handshake do not fit: needed="
              + ROOM_BYTES
              + " available="
              + memory.availableBytes(aeronDirectory)
              + " directory="
              + aeronDirectory
              + "; lower --memory, or make room there",
          full);
    }
  }

  private MediaDriver.Context driverContext(Path aeronDirectory) {
    return new MediaDriver.Context()
        .aeronDirectoryName(aeronDirectory.toString())
        .dirDeleteOnStart(true)
        .dirDeleteOnShutdown(true)
        .warnIfDirectoryExists(false)
        .threadingMode(ThreadingMode.INVOKER)
        .asyncExecutorEnabled(false)
        .clientLivenessTimeoutNs(LIVENESS_NS)
        .publicationUnblockTimeoutNs(UNBLOCK_NS)
        .timerIntervalNs(TIMER_NS)
        .ipcTermBufferLength(TERM_BYTES)
        // A log of a hole would be a SIGBUS, here or in a rank, once the file system is full.
        .termBufferSparseFile(false)
        // The rings may well fill it: that is no error. A log that does not fit is one.
        .lowStorageWarningThreshold(0)
        .counterValuesBufferLength(COUNTERS_BYTES)
        .lossReportBufferLength(LOSS_REPORT_BYTES)
        .nanoClock(clock)
        .epochClock(clock)
        .errorHandler(errors);
  }

  private Aeron.Context clientContext(Path aeronDirectory) {
    return new Aeron.Context()
        .aeronDirectoryName(aeronDirectory.toString())
        .clientName("batchweave-daemon")
        .useConductorAgentInvoker(true)
        .driverAgentInvoker(driverInvoker)
        .keepAliveIntervalNs(0)
        .idleSleepDurationNs(0)
        .driverTimeoutMs(NO_DRIVER_TIMEOUT_MILLIS)
        .nanoClock(clock)
        .epochClock(clock)
        .errorHandler(errors)
        .subscriberErrorHandler(errors);
  }

  private static ManyToOneRingBuffer commandRing(MappedByteBuffer cnc) {
    UnsafeBuffer metaData = CncFileDescriptor.createMetaDataBuffer(cnc);
    return new ManyToOneRingBuffer(CncFileDescriptor.createToDriverBuffer(cnc, metaData));
  }

  /**
   * Only asynchronous requests are made: Aeron's blocking ones would wait on a clock that stands.
   */
  private Subscription awaitSubscription(NanoClock nanoClock) {
    long id =
        aeron.asyncAddSubscription(HandshakeProtocol.CHANNEL, HandshakeProtocol.HELLO_STREAM_ID);
    long deadlineNs = nanoClock.nanoTime() + OPEN_NS;
    while (nanoClock.nanoTime() - deadlineNs < 0) {
      clock.update();
      clientInvoker.invoke();
      driverInvoker.invoke();
      Subscription subscription = aeron.getSubscription(id);
      if (subscription != null) {
        return subscription;
      }
      Thread.onSpinWait();
    }
    throw new BatchWeaveException(
        Kind.RETRYABLE, "the media driver did not start: directory=" + driver.aeronDirectoryName());
  }

  /**
   * One duty cycle.
   *
   * @return amount of work done; 0 when nobody talks: what driver and client do by the clock,
   *     timers and heartbeats, is not counted, so that an idle strategy may sleep through it
   */
  public int doWork() {
    clock.update();
    // The client first: its heartbeat and the driver's look at it then share one instant.
    clientInvoker.invoke();
    driverInvoker.invoke();
    if (aeron.isClosed()) {
      throw new BatchWeaveException(
          Kind.RETRYABLE, "the daemon's own Aeron client was closed; start the daemon again");
    }
    int work = commandRing.check(clock.nanoTime());
    work += hellos.poll(onFragment, FRAGMENTS_PER_POLL);
    work += sendAnswers();
    return commandRing.hasMoved() ? work + 1 : work;
  }

  /**
   * Whether nobody talks: {@link #doWork} is needed for timers and heartbeats only, until somebody
   * rings the doorbell.
   */
  public boolean isSilent() {
    return commandRing.isEmpty() && answers.isEmpty() && hellos.hasNoImages();
  }

  /**
   * Answers a rank; sent as soon as it can be, dropped after {@link HandshakeProtocol#ANSWER_NS}.
   *
   * @param request what it answers
   * @param answer what to say
   */
  public void answer(Request request, Answer answer) {
    if (answers.size() >= MAX_ANSWERS) {
      errors.onError(
          new BatchWeaveException(
              Kind.LIMIT, "too many answers in flight: limit=" + MAX_ANSWERS + "; dropped one"));
      return;
    }
    try {
      answers.add(
          new PendingAnswer(
              request.attempt(),
              answer,
              aeron.asyncAddExclusivePublication(
                  HandshakeProtocol.CHANNEL, request.welcomeStreamId()),
              clock.nanoTime() + HandshakeProtocol.ANSWER_NS));
    } catch (RuntimeException failed) {
      errors.onError(failed);
    }
  }

  /** Answers that were given and not yet taken. */
  public int answersInFlight() {
    return answers.size();
  }

  private void onFragment(DirectBuffer buffer, int offset, int length, Header header) {
    if ((header.flags() & FrameDescriptor.UNFRAGMENTED) != FrameDescriptor.UNFRAGMENTED) {
      return;
    }
    Request request;
    try {
      request = codec.decodeRequest(buffer, offset, length);
    } catch (BatchWeaveException malformed) {
      errors.onError(malformed);
      Request sender = codec.addressOf(buffer, offset, length);
      if (sender != null) {
        answer(
            sender,
            new Answer.Refused(
                RefusalCode.MALFORMED, malformed.getMessage() + "; install one version"));
      }
      return;
    }
    try {
      handler.onRequest(request);
    } catch (RuntimeException | Error defect) {
      errors.onError(defect);
      answer(
          request,
          Answer.Refused.notYet(
              "the daemon failed on this request: " + defect, DEFECT_RETRY_MILLIS));
    }
  }

  private int sendAnswers() {
    int work = 0;
    for (int i = answers.size() - 1; i >= 0; i--) {
      PendingAnswer pending = answers.get(i);
      if (pending.send() || clock.nanoTime() - pending.deadlineNs >= 0) {
        pending.close();
        answers.remove(i);
        work++;
      }
    }
    return work;
  }

  @Override
  public void close() {
    answers.forEach(PendingAnswer::close);
    answers.clear();
    CloseHelper.close(errors, aeron);
    CloseHelper.close(errors, driver);
    IoUtil.unmap(cnc);
  }

  /** One answer on its way: the publication is asked for, awaited, used once and closed. */
  private final class PendingAnswer {
    private final long attempt;
    private final Answer answer;
    private final long registrationId;
    private final long deadlineNs;
    private @Nullable ExclusivePublication publication;

    PendingAnswer(long attempt, Answer answer, long registrationId, long deadlineNs) {
      this.attempt = attempt;
      this.answer = answer;
      this.registrationId = registrationId;
      this.deadlineNs = deadlineNs;
    }

    /** Whether it is done with, sent or not. */
    boolean send() {
      try {
        ExclusivePublication target = publication;
        if (target == null) {
          target = aeron.getExclusivePublication(registrationId);
          publication = target;
        }
        if (target == null) {
          return false;
        }
        int length = codec.encode(attempt, answer, message);
        long position = target.offer(message, 0, length);
        return position > 0
            || position == Publication.CLOSED
            || position == Publication.MAX_POSITION_EXCEEDED;
      } catch (RuntimeException | Error defect) {
        // Refused by the driver, or not to be said: dropped, for the sake of all other answers.
        errors.onError(defect);
        return true;
      }
    }

    void close() {
      ExclusivePublication open = publication;
      if (open == null) {
        aeron.asyncRemovePublication(registrationId);
      } else {
        CloseHelper.close(errors, open);
      }
    }
  }
}
