package io.batchweave.bridge.handshake;

import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.Subscription;
import io.aeron.exceptions.AeronException;
import io.aeron.logbuffer.Header;
import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.memory.NativeMemory;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.agrona.CloseHelper;
import org.agrona.DirectBuffer;
import org.agrona.ExpandableArrayBuffer;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.NanoClock;
import org.jspecify.annotations.Nullable;

/**
 * The rank's side of the handshake. Starts no thread: the caller's runs Aeron's client for the few
 * milliseconds of the exchange, and the client is closed before the answer is returned. Not
 * thread-safe; one may be used for any number of attachments, one after another.
 */
public final class HandshakeClient {
  private static final long MIN_PARK_NS = TimeUnit.MICROSECONDS.toNanos(20);
  private static final long MAX_PARK_NS = TimeUnit.MICROSECONDS.toNanos(500);
  private static final int FRAGMENTS_PER_POLL = 4;
  private static final int MAX_RETRY_MILLIS = 1_000;

  private final NativeMemory memory;
  private final Path daemonDirectory;
  private final String aeronDirectory;
  private final NanoClock clock;
  private final HandshakeCodec codec = new HandshakeCodec();
  private final ExpandableArrayBuffer message =
      new ExpandableArrayBuffer(HandshakeProtocol.MAX_MESSAGE_BYTES);
  private final IdleStrategy idle = new BackoffIdleStrategy(10, 10, MIN_PARK_NS, MAX_PARK_NS);
  private int attempts;
  private String told = "";
  private String lastTrouble = "nothing was tried";
  private HandshakeClient.@Nullable Exchange exchange;

  /**
   * Creates one; connects to nothing.
   *
   * @param memory the system
   * @param daemonDirectory the daemon directory
   * @param clock monotonic time
   */
  public HandshakeClient(NativeMemory memory, Path daemonDirectory, NanoClock clock) {
    this.memory = memory;
    this.daemonDirectory = daemonDirectory;
    this.aeronDirectory =
        daemonDirectory.resolve(HandshakeProtocol.AERON_DIRECTORY).toAbsolutePath().toString();
    this.clock = clock;
  }

  /**
   * Says something until the daemon has decided.
   *
   * @param request what to say; {@code attempt} and {@code welcomeStreamId} are replaced
   * @param deadlineNs when to give up, on the clock of this client
   * @return what was asked for, or a refusal that is final or says CLOSING
   * @throws BatchWeaveException RETRYABLE when the deadline passed, with the last status
   */
  public Answer ask(Request request, long deadlineNs) {
    attempts = 0;
    told = "";
    lastTrouble = "nothing was tried";
    try {
      while (clock.nanoTime() - deadlineNs < 0) {
        Answer answer = attempt(request, deadlineNs);
        if (answer != null) {
          return answer;
        }
      }
      throw new BatchWeaveException(
          Kind.RETRYABLE,
          "the daemon did not answer this rank before its deadline: "
              + request.describe()
              + " stream="
              + request.stream()
              + " aeron="
              + aeronDirectory
              + " attempts="
              + attempts
              + " last status: "
              + lastTrouble);
    } finally {
      closeExchange();
    }
  }

  /** How often the last {@link #ask} said it. */
  public int attempts() {
    return attempts;
  }

  /** One message and its answer; null when another is worth a try. */
  private @Nullable Answer attempt(Request request, long deadlineNs) {
    attempts++;
    long attemptDeadlineNs = clock.nanoTime() + HandshakeProtocol.ATTEMPT_NS;
    long untilNs = attemptDeadlineNs - deadlineNs < 0 ? attemptDeadlineNs : deadlineNs;
    try {
      Exchange open = exchange;
      if (open == null) {
        open = new Exchange();
        exchange = open;
      }
      Answer answer = open.ask(request, untilNs);
      if (answer instanceof Answer.Refused refused && refused.code() == RefusalCode.NOT_YET) {
        told = refused.text();
        lastTrouble = told;
        int pauseMillis = Math.clamp(refused.retryAfterMillis(), 1, MAX_RETRY_MILLIS);
        long pauseNs = clock.nanoTime() + TimeUnit.MILLISECONDS.toNanos(pauseMillis);
        open.idleUntil(pauseNs - deadlineNs < 0 ? pauseNs : deadlineNs);
        return null;
      }
      if (answer == null) {
        trouble(open.trouble("no answer within one attempt"));
        closeExchange();
      }
      return answer;
    } catch (AeronException failed) {
      trouble(String.valueOf(failed.getMessage()));
      closeExchange();
      // A driver that is not there answers at once; a new one takes a moment to come up.
      pause(Math.min(MAX_PARK_NS * 20, Math.max(0, deadlineNs - clock.nanoTime())));
      return null;
    }
  }

  /** What the daemon said last stays worth knowing when it falls silent. */
  private void trouble(String text) {
    lastTrouble = told.isEmpty() ? text : told + "; then " + text;
  }

  private void pause(long durationNs) {
    long untilNs = clock.nanoTime() + durationNs;
    idle.reset();
    while (clock.nanoTime() - untilNs < 0) {
      idle.idle();
    }
  }

  private void closeExchange() {
    Exchange open = exchange;
    exchange = null;
    if (open != null) {
      open.close();
    }
  }

  /** One Aeron client with its Welcome subscription and its Hello publication. */
  private final class Exchange implements AutoCloseable {
    private final CallingIdleStrategy calling =
        new CallingIdleStrategy(
            memory, daemonDirectory, new BackoffIdleStrategy(10, 10, MIN_PARK_NS, MAX_PARK_NS));
    private final Aeron aeron;
    private final Subscription subscription;
    private final ExclusivePublication publication;
    private long awaitedAttempt;
    private @Nullable Answer received;
    private @Nullable Throwable error;

    Exchange() {
      @Nullable Aeron connected = null;
      try {
        connected = connect();
        aeron = connected;
        subscription = aeron.addSubscription(HandshakeProtocol.CHANNEL, welcomeStreamId());
        publication =
            aeron.addExclusivePublication(
                HandshakeProtocol.CHANNEL, HandshakeProtocol.HELLO_STREAM_ID);
      } catch (Throwable failed) {
        CloseHelper.quietCloseAll(connected, calling);
        throw failed;
      }
    }

    private Aeron connect() {
      return Aeron.connect(
          new Aeron.Context()
              .aeronDirectoryName(aeronDirectory)
              .clientName("batchweave-rank")
              .useConductorAgentInvoker(true)
              .driverTimeoutMs(HandshakeProtocol.DRIVER_TIMEOUT_MILLIS)
              .keepAliveIntervalNs(HandshakeProtocol.KEEP_ALIVE_NS)
              .awaitingIdleStrategy(calling)
              .errorHandler(this::onError)
              .subscriberErrorHandler(this::onError));
    }

    private int welcomeStreamId() {
      int id = (int) aeron.nextCorrelationId();
      return id == HandshakeProtocol.HELLO_STREAM_ID ? (int) aeron.nextCorrelationId() : id;
    }

    private void onError(Throwable thrown) {
      error = thrown;
    }

    String trouble(String otherwise) {
      Throwable thrown = error;
      return thrown == null ? otherwise : otherwise + "; " + thrown.getMessage();
    }

    @Nullable Answer ask(Request request, long untilNs) {
      awaitedAttempt = aeron.nextCorrelationId();
      received = null;
      int length =
          codec.encode(request.withAttempt(awaitedAttempt, subscription.streamId()), message);
      boolean sent = false;
      idle.reset();
      while (clock.nanoTime() - untilNs < 0 && !aeron.isClosed()) {
        aeron.conductorAgentInvoker().invoke();
        if (!sent) {
          sent = publication.offer(message, 0, length) > 0;
        }
        idle.idle(subscription.poll(this::onFragment, FRAGMENTS_PER_POLL));
        Answer answer = received;
        if (answer != null) {
          return answer;
        }
      }
      return null;
    }

    void idleUntil(long untilNs) {
      idle.reset();
      while (clock.nanoTime() - untilNs < 0 && !aeron.isClosed()) {
        idle.idle(aeron.conductorAgentInvoker().invoke());
      }
    }

    private void onFragment(DirectBuffer buffer, int offset, int length, Header header) {
      HandshakeCodec.Addressed addressed = codec.decodeAnswer(buffer, offset, length);
      if (addressed.attempt() == awaitedAttempt) {
        received = addressed.answer();
      }
    }

    @Override
    public void close() {
      CloseHelper.quietCloseAll(aeron, calling);
    }
  }
}
