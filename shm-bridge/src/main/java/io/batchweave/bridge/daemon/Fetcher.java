package io.batchweave.bridge.daemon;

import io.batchweave.bridge.ring.FailReason;
import io.batchweave.bridge.ring.FetchMode;
import io.batchweave.log.Bits;
import io.batchweave.store.ByteRange;
import io.batchweave.store.RangeReceiver;
import io.batchweave.store.StoreException;
import io.batchweave.store.StoreFailure;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.ManyToOneConcurrentLinkedQueue;
import org.agrona.concurrent.NanoClock;
import org.jspecify.annotations.Nullable;

/**
 * Reads regions from their stores straight into the rings, at most so many requests at a time, in
 * the order in which they were asked for.
 *
 * <p>While they arrive, the bytes are compared with the manifest's checksums, see {@link
 * RangeCheck}. Wrong bytes and short answers are fetched again, a bounded number of times; passing
 * trouble is tried for ever, ever more slowly. Owned by the agent's thread; only completions come
 * from others, through a queue.
 */
final class Fetcher implements AutoCloseable {
  private static final long MIN_PAUSE_NS = TimeUnit.MILLISECONDS.toNanos(50);
  private static final long MAX_PAUSE_NS = TimeUnit.SECONDS.toNanos(5);

  /**
   * How it behaves.
   *
   * @param concurrentFetches requests in flight
   * @param fetchAttempts how often wrong bytes are fetched
   * @param onCorrupt what becomes of a region whose bytes stay wrong
   * @param seed of the spacing of retries
   */
  record Settings(
      int concurrentFetches, int fetchAttempts, DaemonContext.OnCorrupt onCorrupt, long seed) {}

  private final Settings settings;
  private final NanoClock clock;
  private final DaemonMetrics metrics;
  private final Runnable wake;
  private final ManyToOneConcurrentLinkedQueue<Runnable> completions =
      new ManyToOneConcurrentLinkedQueue<>();
  private final ArrayDeque<PartFetch> waiting = new ArrayDeque<>();
  private final List<PartFetch> paused = new ArrayList<>();
  private final Map<RegionFetch, List<PartFetch>> running = new HashMap<>();
  private final CheckingThreads checking = new CheckingThreads();
  private final Bits bits;
  private int inFlight;

  /**
   * Creates one.
   *
   * @param wake wakes the agent's thread when there is something for {@link #doWork}; called on
   *     other threads
   */
  Fetcher(Settings settings, NanoClock clock, DaemonMetrics metrics, Runnable wake) {
    this.settings = settings;
    this.clock = clock;
    this.bits = new Bits(settings.seed());
    this.metrics = metrics;
    this.wake = wake;
  }

  /** Begins; the listener is told the end from {@link #doWork}. */
  void start(RegionFetch fetch) {
    running.put(fetch, new ArrayList<>());
    for (RegionPlan.Part part : fetch.plan().parts()) {
      waiting.add(new PartFetch(fetch, part));
    }
    if (fetch.plan().parts().isEmpty()) {
      completions.add(() -> finishIfDone(fetch));
    }
  }

  /** Asks a fetch to give up; its listener is told when nothing writes any more. */
  void cancel(RegionFetch fetch) {
    fetch.cancel();
    stop(fetch);
    completions.add(() -> finishIfDone(fetch));
  }

  /** Brings something to the agent's thread, from another one. */
  private void hand(Runnable completion) {
    completions.add(completion);
    wake.run();
  }

  /** Requests that may be writing. */
  int inFlight() {
    return inFlight;
  }

  /** Brings answers to their regions and starts what may start. */
  int doWork() {
    int work = 0;
    for (@Nullable Runnable next = completions.poll(); next != null; next = completions.poll()) {
      next.run();
      work++;
    }
    if (!paused.isEmpty()) {
      long now = clock.nanoTime();
      for (int i = paused.size() - 1; i >= 0; i--) {
        PartFetch part = paused.get(i);
        if (part.region.isStopping()) {
          paused.remove(i);
        } else if (now - part.resumeAtNs >= 0) {
          paused.remove(i);
          waiting.addFirst(part);
          work++;
        }
      }
    }
    while (inFlight < settings.concurrentFetches()) {
      PartFetch part = waiting.poll();
      if (part == null) {
        break;
      }
      if (!part.region.isStopping()) {
        part.begin();
        work++;
      }
    }
    return work;
  }

  private void stop(RegionFetch fetch) {
    List<PartFetch> parts = running.get(fetch);
    if (parts != null) {
      parts.forEach(PartFetch::cancel);
    }
  }

  private void finishIfDone(RegionFetch fetch) {
    if (fetch.isDone() && running.remove(fetch) != null) {
      if (fetch.isCancelled()) {
        metrics.fetchesCancelled.increment();
      }
      fetch.report();
    }
  }

  /** Waits until nothing writes any more; whatever is running is cancelled. Tells no listener. */
  @Override
  public void close() {
    waiting.clear();
    paused.clear();
    running.keySet().forEach(RegionFetch::cancel);
    running.values().forEach(parts -> parts.forEach(PartFetch::cancel));
    running.values().forEach(parts -> parts.forEach(PartFetch::join));
    checking.close();
    running.clear();
  }

  /** One request of a region, sent as often as needed. */
  private final class PartFetch implements RangeCheck.Listener, RangeReceiver {
    private final RegionFetch region;
    private final RegionPlan.Part part;
    private @Nullable CompletableFuture<Long> request;
    private volatile RangeCheck check;
    private volatile boolean begun;
    private boolean verified;
    private int attempts;
    private int badAnswers;
    private long sentAtNs;
    private long resumeAtNs;

    PartFetch(RegionFetch region, RegionPlan.Part part) {
      this.region = region;
      this.part = part;
      this.check = newCheck();
    }

    private RangeCheck newCheck() {
      return new RangeCheck(part, region.target(), checking, this);
    }

    /** Checks what is there already, where that is worth it, or sends the request. */
    void begin() {
      sentAtNs = clock.nanoTime();
      region.onPartStarted();
      inFlight++;
      List<PartFetch> siblings = running.get(region);
      if (siblings != null) {
        siblings.add(this);
      }
      if (region.mode() == FetchMode.VERIFY_FIRST && !verified) {
        verified = true;
        boolean _ = checking.execute(this::verify);
      } else {
        send();
      }
    }

    /** On a checking thread. */
    private void verify() {
      Runnable result;
      try {
        result = check.firstWrongSlice().isEmpty() ? this::onKept : this::onNotKept;
      } catch (RuntimeException | InternalError unreadable) {
        result = this::onNotKept;
      }
      hand(result);
    }

    private void onKept() {
      rest();
      region.onPartFetched();
      finishIfDone(region);
    }

    private void onNotKept() {
      rest();
      if (!region.isStopping()) {
        waiting.addFirst(this);
      }
      finishIfDone(region);
    }

    private void send() {
      if (attempts++ > 0) {
        check = newCheck();
        begun = false;
      }
      RegionFetch.Target target = region.target();
      CompletableFuture<Long> sent;
      try {
        sent =
            region
                .store()
                .getInto(
                    region.plan().key(),
                    part.range().bytes(),
                    target.file(),
                    target.position() + part.offset(),
                    this);
      } catch (RuntimeException refused) {
        sent = CompletableFuture.failedFuture(refused);
      }
      request = sent;
      var _ = sent.whenComplete(this::onAnswer);
    }

    void cancel() {
      CompletableFuture<Long> sent = request;
      if (sent != null) {
        sent.cancel(false);
      }
    }

    void join() {
      CompletableFuture<Long> sent = request;
      if (sent != null) {
        sent.handle((written, failed) -> 0).join();
      }
    }

    /** On the thread that sends the attempt, which is another one where the store tries again. */
    @Override
    public void onBegin() {
      if (begun) {
        check = newCheck();
      }
      begun = true;
    }

    @Override
    public boolean takesBytes() {
      return true;
    }

    /** On a thread of the store, one at a time. */
    @Override
    public void onBytes(long offset, ByteBuffer bytes) {
      check.onBytes(offset, bytes);
    }

    /** On a thread of the store, one at a time. */
    @Override
    public void onWritten(long writtenBytes) {
      check.onWritten(writtenBytes);
    }

    /** On a thread of the store, after all that it had to say before. */
    private void onAnswer(@Nullable Long written, @Nullable Throwable failed) {
      long expected = part.range().bytes().lengthBytes();
      if (failed != null) {
        hand(() -> onFailed(failed));
      } else if (written == null || written != expected) {
        hand(() -> onBad("length=" + written + " expected=" + expected, true));
      } else {
        check.onAtRest();
      }
    }

    @Override
    public void onChecked(String wrong) {
      hand(wrong.isEmpty() ? this::onGood : () -> onBad(wrong, true));
    }

    @Override
    public void onUnreadable(Throwable thrown) {
      hand(() -> onFailed(thrown));
    }

    private void rest() {
      inFlight--;
      region.onPartStopped();
      request = null;
      List<PartFetch> siblings = running.get(region);
      if (siblings != null) {
        siblings.remove(this);
      }
    }

    private void answered() {
      rest();
      metrics.fetches.increment();
      metrics.fetchNanos.add(clock.nanoTime() - sentAtNs);
    }

    private void onGood() {
      answered();
      metrics.bytesFetched.add(part.range().bytes().lengthBytes());
      region.onPartFetched();
      finishIfDone(region);
    }

    private void onBad(String wrong, boolean checksum) {
      answered();
      if (checksum) {
        metrics.checksumFailures.increment();
      }
      badAnswers++;
      String text = "wrong bytes: " + describe() + " " + wrong;
      if (!region.isStopping()) {
        if (badAnswers >= settings.fetchAttempts()
            && settings.onCorrupt() != DaemonContext.OnCorrupt.RETRY) {
          end(new FetchFailure(FailReason.CORRUPT, text + "; repair the object or skip the step"));
        } else {
          retry(text, badAnswers < settings.fetchAttempts() ? 0 : pauseNs());
        }
      }
      finishIfDone(region);
    }

    private void onFailed(Throwable failed) {
      Throwable cause =
          failed instanceof CompletionException && failed.getCause() != null
              ? failed.getCause()
              : failed;
      if (cause instanceof StoreException answer && isBadAnswer(answer.failure())) {
        onBad(String.valueOf(answer.getMessage()), false);
        return;
      }
      answered();
      metrics.fetchFailures.increment();
      if (!region.isStopping()) {
        String text = describe() + ": " + cause.getMessage();
        if (cause instanceof StoreException answer && !answer.failure().retryable()) {
          end(new FetchFailure(reasonOf(answer), text));
        } else {
          retry(text, pauseNs());
        }
      }
      finishIfDone(region);
    }

    private void retry(String text, long pauseNs) {
      metrics.refetches.increment();
      region.trouble(text);
      if (pauseNs == 0) {
        waiting.addFirst(this);
      } else {
        resumeAtNs = clock.nanoTime() + pauseNs;
        paused.add(this);
      }
    }

    private void end(FetchFailure failure) {
      region.fail(failure);
      stop(region);
    }

    private long pauseNs() {
      long longest = Math.min(MAX_PAUSE_NS, MIN_PAUSE_NS << Math.min(attempts - 1, 7));
      // Spread, so that a thousand nodes do not come back to a store all at once.
      return longest / 2 + bits.nextBelow(longest / 2);
    }

    private String describe() {
      ByteRange range = part.range().bytes();
      return "step="
          + region.plan().step()
          + " key="
          + region.plan().key()
          + " offset="
          + range.offset()
          + " length="
          + range.lengthBytes()
          + " attempts="
          + attempts;
    }
  }

  private static boolean isBadAnswer(StoreFailure failure) {
    return failure == StoreFailure.BAD_ANSWER || failure == StoreFailure.RANGE;
  }

  private static FailReason reasonOf(StoreException answer) {
    return answer.failure() == StoreFailure.NOT_FOUND
        ? FailReason.MISSING
        : FailReasons.of(answer.kind());
  }
}
