package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.bridge.ChildJvm;
import io.batchweave.bridge.NativeProgram;
import io.batchweave.bridge.NativeProgram.Build;
import io.batchweave.client.Operator;
import io.batchweave.client.OperatorContext;
import io.batchweave.client.Producer;
import io.batchweave.client.ProducerContext;
import io.batchweave.client.Streams;
import io.batchweave.demo.PythonRanks;
import io.batchweave.format.Grid;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A node under fire: a daemon, ranks in C, Python and Java, a producer, each a process of its own,
 * and a seeded hand that kills one after the other and starts it again at once. Ranks check every
 * word of every step; each of their steps must follow the one before, from process to process; each
 * must get on within a bound; in the end everything is read and nothing is left in shared memory.
 */
final class Soak implements AutoCloseable {
  private static final long MEMORY = 4 << 20;
  private static final long PRODUCER_PAUSE_MS = 25;

  /** How a Python rank's log says that the daemon has died under it. */
  private static final String NOTICE = "batchweave: attached again";

  /** Hangs are what takes longer than this; a busy machine starts a JVM in a tenth of it. */
  private static final long BOUND_SECONDS = Long.getLong("batchweave.soakBoundSeconds", 150);

  /** What a soak came to. */
  record Result(
      long seed,
      int kills,
      int daemonKills,
      int rankKills,
      int producerKills,
      long steps,
      int ranks,
      double longestWaitSeconds,
      double seconds) {
    /** In one line. */
    String json() {
      return ("{\"name\":\"soak\",\"seed\":%d,\"kills\":%d,\"daemonKills\":%d,\"rankKills\":%d,"
              + "\"producerKills\":%d,\"steps\":%d,\"ranks\":%d,\"longestWaitSeconds\":%.1f,"
              + "\"seconds\":%.0f,\"wrong\":0,\"hangs\":0,\"lost\":0,\"leaked\":0}")
          .formatted(
              seed,
              kills,
              daemonKills,
              rankKills,
              producerKills,
              steps,
              ranks,
              longestWaitSeconds,
              seconds);
    }
  }

  /** A rank: one process after another at one coordinate. */
  private final class Rank {
    final String kind;
    final int dp;
    final List<String> command;
    final Map<String, String> environment;
    private volatile long next;
    private volatile boolean ended;
    private volatile long progressNs = System.nanoTime();
    private volatile @Nullable String wrong;
    private @Nullable Process process;
    private @Nullable Thread lines;

    Rank(String kind, int dp, List<String> command, Map<String, String> environment) {
      this.kind = kind;
      this.dp = dp;
      this.command = command;
      this.environment = environment;
    }

    void start() throws IOException {
      List<String> whole = new ArrayList<>(command);
      whole.addAll(List.of(directory.toString(), url, Integer.toString(dp)));
      whole.addAll(
          List.of(
              Integer.toString(ranks.size()), Long.toString(next), Long.toString(BOUND_SECONDS)));
      ProcessBuilder builder = new ProcessBuilder(whole).redirectErrorStream(true);
      builder.environment().putAll(environment);
      Process started = builder.start();
      process = started;
      lines = Thread.ofPlatform().daemon().start(() -> read(started));
    }

    private void read(Process from) {
      try (BufferedReader out = from.inputReader(StandardCharsets.UTF_8)) {
        StringBuilder trouble = new StringBuilder();
        for (String line = out.readLine(); line != null; line = out.readLine()) {
          long step = next;
          if (line.equals("step " + step)) {
            next = step + 1;
            waited(progressNs);
            progressNs = System.nanoTime();
          } else if (line.equals("end")) {
            ended = true;
          } else if (!line.startsWith(NOTICE)
              && !("step " + step).startsWith(line)) { // else killed while it wrote a line
            trouble.append(line).append('\n');
          }
        }
        if (!trouble.isEmpty()) {
          wrong = this + ": " + trouble;
        }
      } catch (IOException e) {
        // Its end was closed.
      }
    }

    void kill() throws InterruptedException {
      Process victim = process;
      Thread reading = lines;
      if (victim != null && reading != null) {
        victim.destroyForcibly();
        victim.waitFor();
        reading.join();
      }
    }

    /** Whether it is in order: running, or at the end. */
    void check() {
      assertTrue(wrong == null, () -> wrong + describe());
      Process now = process;
      assertTrue(
          ended || (now != null && (now.isAlive() || isReading())), this + " ended by itself");
      double waitingSeconds = (System.nanoTime() - progressNs) / 1e9;
      assertTrue(ended || waitingSeconds < BOUND_SECONDS, () -> this + " hangs: " + describe());
    }

    private boolean isReading() {
      Thread reading = lines;
      return reading != null && reading.isAlive();
    }

    @Override
    public String toString() {
      return kind + " rank " + dp + " next=" + next;
    }
  }

  private final long seed;
  private final SplittableRandom random;
  private final Path directory;
  private final String url;
  private final List<Rank> ranks = new ArrayList<>();
  private volatile long longestWaitNs;
  private ServedDaemon daemon;
  private Process producer;

  /**
   * Starts everything.
   *
   * @param seed of every choice
   * @param directory the daemon's, in shared memory
   * @param root an empty directory for the stream
   */
  Soak(long seed, Path directory, Path root) throws IOException {
    this.seed = seed;
    this.random = new SplittableRandom(seed);
    this.directory = directory;
    this.url = root.toString();
    addRanks();
    try (ObjectStore store = Stores.open(url, Map.of())) {
      Streams.create(store, new Grid(ranks.size(), 1));
    }
    daemon = ServedDaemon.start(directory, url, MEMORY);
    producer = startProducer();
    for (Rank rank : ranks) {
      rank.start();
    }
  }

  private void addRanks() {
    List<String> c = List.of(NativeProgram.compile("test/soak_rank.c", Build.C).toString());
    PythonRanks python = PythonRanks.find(NativeProgram.include().resolve(".."), System.getenv());
    add("C", c, Map.of());
    if (python.kind() == PythonRanks.Kind.JAVA) {
      System.out.println("soak: no Python ranks: " + python.why());
      add("C", c, Map.of());
    } else {
      String program =
          NativeProgram.include().resolve("../shm-bridge/python/tests/soak_rank.py").toString();
      List<String> command = List.of(python.command(), program);
      Map<String, String> environment = Map.of("PYTHONPATH", python.modulePath().toString());
      add("Python", command, environment);
      add("Python", command, environment);
    }
    add("C", c, Map.of());
    add("Java", ChildJvm.command(List.of(), SoakRank.class), Map.of());
  }

  private void add(String kind, List<String> command, Map<String, String> environment) {
    ranks.add(new Rank(kind, ranks.size(), command, environment));
  }

  private Process startProducer() throws IOException {
    List<String> command =
        ChildJvm.command(
            List.of(),
            SoakStream.class,
            url,
            Integer.toString(ranks.size()),
            Long.toString(PRODUCER_PAUSE_MS));
    return new ProcessBuilder(command)
        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }

  private synchronized void waited(long sinceNs) {
    longestWaitNs = Math.max(longestWaitNs, System.nanoTime() - sinceNs);
  }

  /** Kills so many times, then lets everybody read to the end. */
  Result run(int kills) throws Exception {
    long startNs = System.nanoTime();
    int[] killed = new int[3];
    advance();
    for (int i = 0; i < kills; i++) {
      int victim = i % 3 == 0 ? 0 : random.nextInt(4) == 0 ? 1 : 2;
      killed[victim]++;
      switch (victim) {
        case 0 -> {
          assertTrue(daemon.isAlive(), () -> "the daemon ended by itself: " + daemon.lines());
          daemon.kill();
          daemon = ServedDaemon.start(directory, url, MEMORY);
        }
        case 1 -> {
          assertTrue(producer.isAlive(), "the producer ended by itself");
          producer.destroyForcibly().waitFor();
          producer = startProducer();
        }
        default -> {
          Rank rank = ranks.get(random.nextInt(ranks.size()));
          rank.kill();
          rank.start();
        }
      }
      if (random.nextInt(3) == 0) {
        advance(); // else the next one dies while this one starts
      }
      LockSupport.parkNanos(random.nextLong(TimeUnit.MILLISECONDS.toNanos(400)));
      check();
      if ((i + 1) % 10 == 0) {
        System.out.printf(
            "soak: %d kills, %.0f s, %s%n", i + 1, (System.nanoTime() - startNs) / 1e9, ranks);
      }
    }
    long steps = finish();
    double seconds = (System.nanoTime() - startNs) / 1e9;
    return new Result(
        seed,
        kills,
        killed[0],
        killed[2],
        killed[1],
        steps,
        ranks.size(),
        longestWaitNs / 1e9,
        seconds);
  }

  /** How everybody stands. */
  private String describe() {
    String files;
    try (Stream<Path> all = Files.list(directory)) {
      files = all.map(file -> String.valueOf(file.getFileName())).sorted().toList().toString();
    } catch (IOException e) {
      files = e.toString();
    }
    return "\nranks="
        + ranks
        + "\nfiles="
        + files
        + "\ndaemon="
        + String.join("\n  ", daemon.lines())
        + "\n"
        + daemon.metrics();
  }

  private void check() throws IOException {
    assertTrue(daemon.isAlive(), () -> "the daemon ended by itself: " + daemon.lines());
    ranks.forEach(Rank::check);
    assertTrue(ringBytes() <= MEMORY, "more than one ring in shared memory");
  }

  private long ringBytes() throws IOException {
    long sum = 0;
    try (Stream<Path> files = Files.list(directory)) {
      for (Path file : files.filter(file -> file.toString().endsWith(".data")).toList()) {
        sum += Files.size(file);
      }
    }
    return sum;
  }

  /** Waits until every rank has got on. */
  private void advance() throws IOException {
    long[] before = ranks.stream().mapToLong(rank -> rank.next).toArray();
    while (ranks.stream().anyMatch(rank -> rank.next <= before[rank.dp])) {
      check();
      LockSupport.parkNanos(5_000_000);
    }
  }

  /** The end of the stream: all of it was read by everybody, and nothing is left. */
  private long finish() throws Exception {
    producer.destroyForcibly().waitFor();
    long steps;
    try (ObjectStore store = Stores.open(url, Map.of())) {
      try (Producer last =
          Producer.open(new ProducerContext().store(store).producerId(SoakStream.PRODUCER))) {
        steps = SoakStream.steps(last.sourceState());
      }
      try (Operator operator = Operator.open(new OperatorContext().store(store))) {
        operator.seal();
      }
    }
    while (!ranks.stream().allMatch(rank -> rank.ended)) {
      check();
      LockSupport.parkNanos(5_000_000);
    }
    for (Rank rank : ranks) {
      assertEquals(steps, rank.next, rank::toString);
      Process process = Objects.requireNonNull(rank.process);
      assertTrue(process.waitFor(BOUND_SECONDS, TimeUnit.SECONDS), rank::toString);
      assertEquals(0, process.exitValue(), rank::toString);
      rank.check();
    }
    daemon.close();
    try (Stream<Path> files = Files.list(directory)) {
      assertEquals(
          List.of("daemon.lock"),
          files.map(file -> String.valueOf(file.getFileName())).sorted().toList());
    }
    return steps;
  }

  @Override
  public void close() {
    try {
      for (Rank rank : ranks) {
        rank.kill();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    producer.destroyForcibly();
    daemon.close();
  }
}
