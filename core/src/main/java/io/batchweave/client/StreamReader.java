package io.batchweave.client;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Grid;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SliceEntry;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.format.TgbFooter;
import io.batchweave.format.TgbLayout;
import io.batchweave.log.Bits;
import io.batchweave.log.FollowPolicy;
import io.batchweave.log.State;
import io.batchweave.read.Coordinate;
import io.batchweave.read.ReaderMachine;
import io.batchweave.read.SlicePlan;
import io.batchweave.read.StepResult;
import io.batchweave.store.ByteRange;
import io.batchweave.store.StoreException;
import io.batchweave.store.StoreFailure;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Follows a stream and says what its steps are. Never blocks its caller except in the methods that
 * take a timeout. Thread-safe.
 */
public final class StreamReader implements AutoCloseable {
  /** Longer than the largest slice takes. */
  private static final long BODY_NS = TimeUnit.MINUTES.toNanos(15);

  private static final long MAX_SLICE_BYTES = 1L << 30;
  private static final long HEAD_TIMEOUT_NS = 60_000_000_000L;

  /** What callers see; replaced as a whole by the agent. */
  private record View(
      long version,
      long nextStep,
      long horizon,
      boolean sealed,
      String trouble,
      @Nullable BatchWeaveException failure) {}

  private final ReaderContext context;
  private final MachineAgent agent;
  private final ReaderMachine machine;
  private final DrivenMachine driven;
  private final Signal signal;
  private final ConcurrentSkipListMap<Long, StepResult> described = new ConcurrentSkipListMap<>();
  private volatile View view = new View(-1, 0, 0, false, "", null);
  private volatile long fromStep;
  private volatile Runnable onChange = () -> {};

  // Touched by the agent's thread only.
  private final List<CompletableFuture<State>> refreshes = new ArrayList<>();
  private long takenChanges = -1;

  // Guarded by the signal.
  private boolean closed;

  private StreamReader(ReaderContext context) {
    this.context = context;
    MachineAgent shared = context.agent();
    this.agent =
        shared != null ? shared : MachineAgent.start("batchweave-reader", context.nanoClock());
    this.signal = new Signal(context.nanoClock());
    this.machine =
        new ReaderMachine(context.windowSteps(), FollowPolicy.DEFAULT, new Bits(context.seed()));
    this.driven =
        new DrivenMachine(
            agent,
            machine,
            context.store(),
            handle -> {
              throw new IllegalArgumentException("a reader uploads nothing: handle=" + handle);
            },
            new Events());
  }

  /**
   * Opens the stream at its head.
   *
   * @param context settings; concluded here
   * @throws BatchWeaveException {@link Kind#CONFIG} if the root is no stream or a setting is wrong,
   *     {@link Kind#RETRYABLE} when the time of the context has passed, {@link Kind#CORRUPT},
   *     {@link Kind#TOO_NEW}
   */
  public static StreamReader open(ReaderContext context) {
    StreamReader reader = new StreamReader(context.conclude());
    boolean opened = false;
    try {
      long deadlineNs = reader.signal.deadlineNs(context.openTimeoutNs());
      reader.agent.drive(reader.driven);
      reader.awaitView(() -> reader.view.version() >= 0, deadlineNs, "stream did not open in time");
      opened = true;
      return reader;
    } finally {
      if (!opened) {
        reader.close();
      }
    }
  }

  private void awaitView(BooleanSupplier condition, long deadlineNs, String otherwise) {
    boolean done =
        signal.await(
            () -> condition.getAsBoolean() || view.failure() != null || closed, deadlineNs);
    View now = view;
    if (now.failure() != null) {
      throw now.failure();
    }
    if (signal.under(() -> closed)) {
      throw new IllegalStateException("reader is closed");
    }
    if (!done) {
      throw new BatchWeaveException(
          Kind.RETRYABLE,
          otherwise
              + ": store="
              + context.store().url()
              + " head="
              + now.version()
              + " nextStep="
              + now.nextStep()
              + " lastTrouble="
              + (now.trouble().isEmpty() ? "none" : now.trouble()));
    }
  }

  /** What the agent tells; on its thread. */
  private final class Events implements DrivenMachine.Observer {
    @Override
    public void afterEvent() {
      answerRefreshes();
      publish();
    }

    @Override
    public void onFailure(Throwable thrown) {
      fail(
          thrown instanceof BatchWeaveException known
              ? known
              : new BatchWeaveException(
                  Kind.RETRYABLE,
                  "reader stopped by a defect: " + thrown + "; open it again",
                  thrown));
    }
  }

  private void answerRefreshes() {
    if (!refreshes.isEmpty() && machine.log().headKnown()) {
      State state = machine.log().state().copy();
      refreshes.forEach(refresh -> refresh.complete(state));
      refreshes.clear();
      signal.update(() -> {});
    }
  }

  private void publish() {
    String trouble = machine.trouble() == null ? "" : machine.trouble();
    View before = view;
    boolean opens = before.version() < 0 && machine.log().headKnown();
    if (!opens
        && machine.changes() == takenChanges
        && Objects.equals(machine.log().failure(), before.failure())
        && trouble.equals(before.trouble())) {
      return;
    }
    takenChanges = machine.changes();
    takeDescribed();
    if (opens || before.version() >= 0) {
      State state = machine.log().state();
      if (state.version() != before.version()) {
        context.onState().accept(state);
      }
      view =
          new View(
              state.version(),
              state.nextStep(),
              state.horizon(),
              state.sealed(),
              trouble,
              machine.log().failure());
    } else {
      view = new View(-1, 0, 0, false, trouble, machine.log().failure());
    }
    signal.update(() -> {});
    onChange.run();
  }

  private void takeDescribed() {
    for (StepResult next = machine.nextDescribed(); next != null; next = machine.nextDescribed()) {
      switch (next) {
        case StepResult.Ready ready -> described.put(ready.step(), next);
        case StepResult.Failed failed -> described.put(failed.step(), next);
        default -> throw new IllegalStateException("not a description: " + next);
      }
    }
    described.headMap(machine.fromStep()).clear();
    described.tailMap(machine.fromStep() + 2L * context.windowSteps()).clear();
  }

  private void fail(BatchWeaveException cause) {
    View now = view;
    view =
        new View(now.version(), now.nextStep(), now.horizon(), now.sealed(), now.trouble(), cause);
    signal.update(() -> {});
    onChange.run();
  }

  /** The stream. */
  public StreamDescriptor descriptor() {
    return machine.log().stream();
  }

  /**
   * What is known about a step, without waiting. Asking moves the window there if it lies outside.
   *
   * @param step the step
   * @throws BatchWeaveException if the log cannot be followed any more ({@link Kind#CORRUPT},
   *     {@link Kind#TOO_NEW}, {@link Kind#CONFIG}); for one damaged step see {@link
   *     StepResult.Failed}
   */
  public StepResult lookup(long step) {
    View now = view;
    if (now.failure() != null) {
      throw now.failure();
    }
    if (step < now.horizon()) {
      return new StepResult.Reclaimed(now.horizon());
    }
    long from = fromStep;
    if (step < from || step >= from + context.windowSteps()) {
      prefetchFrom(step);
    }
    if (step >= now.nextStep()) {
      return now.sealed() ? new StepResult.End(now.nextStep()) : new StepResult.NotYet();
    }
    StepResult known = described.get(step);
    return known == null ? new StepResult.Loading() : known;
  }

  /**
   * Says from which step on entries are wanted; those below may be forgotten.
   *
   * @param step the next step that will be asked for
   */
  public void prefetchFrom(long step) {
    if (step == fromStep) {
      return;
    }
    fromStep = step;
    agent.execute(() -> {
      machine.want(step);
      driven.poke();
    });
  }

  /**
   * Waits until a step is known: never {@link StepResult.NotYet} or {@link StepResult.Loading}.
   *
   * @param step the step
   * @param timeoutNs longest wait, nanoseconds
   * @throws BatchWeaveException {@link Kind#RETRYABLE} with the head and the last trouble of the
   *     store when the time has passed; else as {@link #lookup}
   */
  public StepResult await(long step, long timeoutNs) {
    StepResult first = lookup(step);
    if (isAnswer(first)) {
      return first;
    }
    awaitView(
        () -> isAnswer(lookup(step)),
        signal.deadlineNs(timeoutNs),
        "step is not there in time: step=" + step + " known=" + first);
    return lookup(step);
  }

  private static boolean isAnswer(StepResult result) {
    return !(result instanceof StepResult.NotYet || result instanceof StepResult.Loading);
  }

  /** Reads on to the head now, whatever the pace, without waiting for it. */
  public void look() {
    agent.execute(() -> {
      machine.look();
      driven.poke();
    });
  }

  /**
   * Reads on to the head now, whatever the pace.
   *
   * @param timeoutNs longest wait, nanoseconds
   * @return the state at the head
   * @throws BatchWeaveException as {@link #await}
   */
  public State refresh(long timeoutNs) {
    CompletableFuture<State> refresh = new CompletableFuture<>();
    agent.execute(() -> {
      machine.look();
      refreshes.add(refresh);
      driven.poke();
    });
    awaitView(refresh::isDone, signal.deadlineNs(timeoutNs), "head was not reached in time");
    return refresh.join();
  }

  /**
   * Plans the requests for some ranks of one step.
   *
   * @param ready the step
   * @param ranks the grid of the ranks
   * @param places the ranks' places in it
   * @throws BatchWeaveException as {@link SlicePlan#of}
   */
  public SlicePlan plan(StepResult.Ready ready, Grid ranks, Collection<Coordinate> places) {
    return SlicePlan.of(ready.entry(), descriptor().grid(), ranks, places);
  }

  /**
   * Reads one slice onto the heap and checks its length and checksum: for tools and tests.
   *
   * @param ready the step
   * @param place a place in the stream's grid
   * @throws BatchWeaveException {@link Kind#RECLAIMED} if the step is below the horizon by now,
   *     {@link Kind#CORRUPT} if the bytes are not those committed, {@link Kind#LIMIT} for a slice
   *     over 1 GiB; or as the store fails
   */
  public Bytes readSlice(StepResult.Ready ready, Coordinate place) {
    SliceEntry slice =
        ready.entry().slices().get(descriptor().grid().sliceIndex(place.dp(), place.cp()));
    String key = ObjectNames.data(ready.entry().object());
    String where =
        "step="
            + ready.step()
            + " dp="
            + place.dp()
            + " cp="
            + place.cp()
            + " object="
            + key
            + " offset="
            + slice.offset();
    if (slice.lengthBytes() > MAX_SLICE_BYTES) {
      throw new BatchWeaveException(
          Kind.LIMIT, "slice too large for the heap: " + where + "; read it by ranges");
    }
    ByteRange range = new ByteRange(slice.offset(), slice.lengthBytes());
    Bytes bytes = read(ready.step(), key, range);
    CRC32C crc = new CRC32C();
    crc.update(bytes.asByteBuffer());
    if (bytes.length() != slice.lengthBytes() || (int) crc.getValue() != slice.crc32c()) {
      throw new BatchWeaveException(
          Kind.CORRUPT,
          "slice is not what was committed: "
              + where
              + " lengthBytes="
              + bytes.length()
              + " expected="
              + slice.lengthBytes()
              + "; restore the object");
    }
    return bytes;
  }

  /**
   * Reads a step's footer: its complete slice table and where the data came from.
   *
   * @param ready the step
   * @throws BatchWeaveException {@link Kind#RECLAIMED} if the step is below the horizon by now,
   *     {@link Kind#CORRUPT} if the bytes are not those committed; or as the store fails
   */
  public TgbFooter readFooter(StepResult.Ready ready) {
    String key = ObjectNames.data(ready.entry().object());
    ByteRange range = TgbLayout.footerRange(ready.entry());
    Bytes bytes = read(ready.step(), key, range);
    return TgbLayout.decodeFooter(key, ready.entry(), bytes);
  }

  /** Reads a part of a step's object; if it does not exist, the head tells why. */
  private Bytes read(long step, String key, ByteRange range) {
    try {
      return Streams.join(context.store().get(key, range, range.lengthBytes()), BODY_NS);
    } catch (StoreException e) {
      if (e.failure() != StoreFailure.NOT_FOUND) {
        throw e;
      }
      long horizon = refresh(HEAD_TIMEOUT_NS).horizon();
      if (step < horizon) {
        throw new BatchWeaveException(
            Kind.RECLAIMED,
            "step was reclaimed: step="
                + step
                + " horizon="
                + horizon
                + "; only registered sessions and checkpoints keep steps",
            e);
      }
      throw new BatchWeaveException(
          Kind.CORRUPT,
          "data object does not exist: step="
              + step
              + " object="
              + key
              + " horizon="
              + horizon
              + "; restore it, or skip the step",
          e);
    }
  }

  /** Number of steps committed, as far as the head is known. */
  public long nextStep() {
    return view.nextStep();
  }

  /** First step not reclaimed, as far as the head is known. */
  public long horizon() {
    return view.horizon();
  }

  /** Whether the stream has ended, as far as the head is known. */
  public boolean sealed() {
    return view.sealed();
  }

  /** The newest manifest version known. */
  public long headVersion() {
    return view.version();
  }

  /** The last trouble with the store that has not been overcome yet; empty if all is well. */
  public String trouble() {
    return view.trouble();
  }

  /**
   * Sets who is told, on the agent's thread, that {@link #lookup} may answer differently now.
   *
   * @param newOnChange must not block
   */
  public void onChange(Runnable newOnChange) {
    onChange = newOnChange;
  }

  @Override
  public void close() {
    signal.update(() -> closed = true);
    driven.stop();
    if (context.agent() == null) {
      agent.close();
    }
  }
}
