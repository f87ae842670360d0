package io.batchweave.bridge.daemon;

import io.batchweave.benchmarks.Bar;
import io.batchweave.benchmarks.JmhBar;
import io.batchweave.benchmarks.Verdict;
import io.batchweave.bridge.memory.FutexWaiter;
import io.batchweave.bridge.memory.Mapping;
import io.batchweave.bridge.memory.NativeMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Question: what does it take to wake a thread that sleeps on a word of shared memory, and to be
 * woken by its answer?
 *
 * <p>Ceiling: the same calls with nobody asleep: a wake, and a wait for a word that has changed.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class FutexWakeBenchmark {
  private static final long LENGTH_BYTES = 4_096;
  private static final long CALL = 0;
  private static final long ANSWER = 256;
  private static final long NOBODY = 512;
  private static final long PATIENCE_NS = TimeUnit.SECONDS.toNanos(1);
  private static final int STOP = -1;
  private static final VarHandle WORD = ValueLayout.JAVA_INT.varHandle();

  private @Nullable Mapping mapped;
  private @Nullable FutexWaiter waiter;
  private @Nullable Thread answering;
  private int calls;

  /** Creates one. */
  public FutexWakeBenchmark() {}

  /** The bar. */
  public static Bar bar() {
    return new JmhBar(
        "futex-wake",
        "two threads wake each other on words of shared memory: time of one wake-up",
        FutexWakeBenchmark.class,
        results ->
            Verdict.reported(
                "futex-wake",
                results.score("roundTrip", "").map(micros -> micros / 2),
                "us/wake-up",
                results.score("nobodyAsleep", "")));
  }

  /** Maps the words and starts the thread that answers. */
  @Setup
  public void start() throws IOException {
    mapped = Crc32cBenchmark.mapShared(LENGTH_BYTES);
    waiter = NativeMemory.system().newWaiter();
    answering = Thread.ofPlatform().daemon().name("batchweave-bench-answer").start(this::answer);
  }

  private void answer() {
    MemorySegment words = words();
    try (FutexWaiter own = NativeMemory.system().newWaiter()) {
      int answered = 0;
      while (answered != STOP) {
        answered = awaitOther(own, words, CALL, answered);
        WORD.setRelease(words, ANSWER, answered);
        own.wakeAll(words, ANSWER);
      }
    }
  }

  /** Sleeps until the word has another value, and gives that. */
  private static int awaitOther(FutexWaiter waiter, MemorySegment words, long word, int known) {
    int found = (int) WORD.getAcquire(words, word);
    while (found == known) {
      waiter.await(words, word, known, PATIENCE_NS);
      found = (int) WORD.getAcquire(words, word);
    }
    return found;
  }

  private MemorySegment words() {
    return Objects.requireNonNull(mapped).segment();
  }

  /** Two wake-ups: of the other thread, and of this one by its answer. */
  @Benchmark
  public int roundTrip() {
    int known = calls;
    calls = known + 1 & Integer.MAX_VALUE;
    return call(known, calls);
  }

  private int call(int known, int next) {
    FutexWaiter own = Objects.requireNonNull(waiter);
    WORD.setRelease(words(), CALL, next);
    own.wakeAll(words(), CALL);
    return awaitOther(own, words(), ANSWER, known);
  }

  /** The ceiling. */
  @Benchmark
  public int nobodyAsleep() {
    FutexWaiter own = Objects.requireNonNull(waiter);
    own.await(words(), NOBODY, 1, PATIENCE_NS);
    return own.wakeAll(words(), NOBODY);
  }

  /** Ends the other thread and gives the memory back. */
  @TearDown
  public void stop() throws InterruptedException {
    call(calls, STOP);
    Objects.requireNonNull(answering).join();
    Objects.requireNonNull(waiter).close();
    Objects.requireNonNull(mapped).close();
  }
}
