package io.batchweave.bridge.daemon;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import org.agrona.concurrent.EpochClock;
import org.agrona.concurrent.NanoClock;
import org.agrona.concurrent.SystemEpochClock;
import org.agrona.concurrent.SystemNanoClock;
import org.jspecify.annotations.Nullable;

/**
 * Configures a {@link Daemon}. Setters return this; {@link #conclude} checks, once, and names the
 * flag of {@code batchweave serve} that is wrong.
 */
public final class DaemonContext {
  /** Variable that names the daemon directory. */
  public static final String DIRECTORY_VARIABLE = "BATCHWEAVE_DIR";

  /** Rings of one daemon. */
  public static final int MAX_RINGS = 64;

  private static final int MAX_HOLD = 64;
  private static final int MAX_FETCHES = 1_024;
  private static final int MAX_PORT = 65_535;

  private List<String> streams = List.of();
  private Map<String, String> environment = System.getenv();
  private @Nullable Path directory;
  private @Nullable String group;
  private long memoryBytes = 1L << 30;
  private int rings = 1;
  private int hold = 1;
  private long prefetchBytes;
  private int concurrentFetches = 8;
  private int fetchAttempts = 4;
  private long reserveBytes = 64L << 20;
  private int metricsPort;
  private OnCorrupt onCorrupt = OnCorrupt.FAIL;
  private Unopened unopened = Unopened.WAIT;
  private long localReadersTimeoutNs = TimeUnit.SECONDS.toNanos(60);
  private NanoClock nanoClock = SystemNanoClock.INSTANCE;
  private EpochClock epochClock = SystemEpochClock.INSTANCE;
  private NativeMemory memory = NativeMemory.system();
  private Consumer<String> lines = line -> {};
  private @Nullable Function<String, ObjectStore> storeSupplier;
  private long seed = new SecureRandom().nextLong();
  private boolean concluded;

  /** What becomes of the daemon when a root holds no stream that it can read. */
  public enum Unopened {
    /** It looks again every second: the stream may be made later. */
    WAIT,
    /** It ends with the reason. */
    FAIL
  }

  /** What becomes of a step whose bytes stay wrong after every attempt. */
  public enum OnCorrupt {
    /**
     * As FAIL, after a skip of the step was committed: sessions that are registered from then on
     * pass over it, on every node.
     */
    SKIP,
    /** The step is FAILED: ranks raise an error that names object and slice. */
    FAIL,
    /** It is fetched again and again, and the status says so: for a store under repair. */
    RETRY
  }

  /** Creates one with the defaults. */
  public DaemonContext() {}

  /**
   * Checks the settings; called by {@link Daemon#launch}.
   *
   * @throws BatchWeaveException {@link Kind#CONFIG} naming the flag
   */
  public DaemonContext conclude() {
    if (concluded) {
      throw new IllegalStateException("a context belongs to one daemon");
    }
    concluded = true;
    if (streams.isEmpty()) {
      throw config("URL", "", "name at least one stream");
    }
    if (new HashSet<>(streams).size() != streams.size()) {
      throw config("URL", String.join(" ", streams), "name each stream once");
    }
    int page = memory.pageSizeBytes();
    if (memoryBytes < 4L * page || memoryBytes % page != 0) {
      throw config("--memory", memoryBytes, "give a multiple of " + page + ", at least 4 of them");
    }
    require("--rings", rings, 1, MAX_RINGS);
    require("--hold", hold, 1, MAX_HOLD);
    require("--fetches", concurrentFetches, 1, MAX_FETCHES);
    require("--fetch-attempts", fetchAttempts, 1, 100);
    require("--metrics-port", metricsPort, 0, MAX_PORT);
    if (prefetchBytes < 0) {
      throw config("--prefetch", prefetchBytes, "give bytes, or 0 for the whole ring");
    }
    if (reserveBytes < 0) {
      throw config("--reserve", reserveBytes, "give 0 or more bytes");
    }
    if (localReadersTimeoutNs < 0) {
      throw config("--local-ranks-timeout", localReadersTimeoutNs, "give 0 or more (ns)");
    }
    if (!directory().isAbsolute()) {
      throw config("--dir", directory(), "give an absolute path, best under /dev/shm");
    }
    return this;
  }

  private static void require(String flag, int value, int min, int max) {
    if (value < min || value > max) {
      throw config(flag, value, "give " + min + " to " + max);
    }
  }

  private static BatchWeaveException config(String flag, Object value, String remedy) {
    return new BatchWeaveException(
        Kind.CONFIG, "bad daemon setting: " + flag + "=" + value + "; " + remedy);
  }

  /** URLs of the streams to serve. */
  public List<String> streams() {
    return streams;
  }

  /**
   * Sets the streams to serve ({@code URL…}).
   *
   * @param streams at least one URL, each once
   */
  public DaemonContext streams(List<String> streams) {
    this.streams = List.copyOf(streams);
    return this;
  }

  /** Variables that settings are read from. */
  public Map<String, String> environment() {
    return environment;
  }

  /**
   * Sets the variables that settings are read from.
   *
   * @param environment usually {@code System.getenv()}
   */
  public DaemonContext environment(Map<String, String> environment) {
    this.environment = Map.copyOf(environment);
    return this;
  }

  /** The group of users that shares the directory; null: nobody. */
  public @Nullable String group() {
    return group;
  }

  /**
   * Sets the group of users that shares the directory ({@code --group}).
   *
   * @param group name of a group of this system; null: nobody
   */
  public DaemonContext group(@Nullable String group) {
    this.group = group;
    return this;
  }

  /** The daemon directory. */
  public Path directory() {
    return directory == null ? defaultDirectory(environment) : directory;
  }

  /**
   * Sets the daemon directory ({@code --dir}).
   *
   * @param directory absolute; created if absent, with mode 0700 or for the group
   */
  public DaemonContext directory(Path directory) {
    this.directory = directory;
    return this;
  }

  /**
   * Where a daemon is looked for unless told otherwise: {@code BATCHWEAVE_DIR}, else {@code
   * /dev/shm/batchweave-<uid>/default}.
   *
   * @param environment the variables
   */
  public static Path defaultDirectory(Map<String, String> environment) {
    String named = environment.get(DIRECTORY_VARIABLE);
    if (named != null && !named.isEmpty()) {
      return Path.of(named);
    }
    try {
      Object uid = Files.getAttribute(Path.of("/proc/self"), "unix:uid");
      return Path.of("/dev/shm/batchweave-" + uid + "/default");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Length of each ring in bytes. */
  public long memoryBytes() {
    return memoryBytes;
  }

  /**
   * Sets the length of each ring ({@code --memory}).
   *
   * @param memoryBytes a multiple of the page size; the ring must hold (hold + 2) steps
   */
  public DaemonContext memoryBytes(long memoryBytes) {
    this.memoryBytes = memoryBytes;
    return this;
  }

  /** Number of rings: of training sessions served at a time. */
  public int rings() {
    return rings;
  }

  /**
   * Sets the number of rings ({@code --rings}).
   *
   * @param rings 1 to {@link #MAX_RINGS}; training and validation at a time need two
   */
  public DaemonContext rings(int rings) {
    this.rings = rings;
    return this;
  }

  /** Steps a rank may hold while it asks for the next. */
  public int hold() {
    return hold;
  }

  /**
   * Sets the steps a rank may hold while it asks for the next ({@code --hold}).
   *
   * @param hold at least 1: every loop holds one
   */
  public DaemonContext hold(int hold) {
    this.hold = hold;
    return this;
  }

  /** Bytes fetched ahead of the slowest rank, per ring. */
  public long prefetchBytes() {
    return prefetchBytes == 0 ? memoryBytes : prefetchBytes;
  }

  /**
   * Sets the bytes fetched ahead of the slowest rank, per ring ({@code --prefetch}).
   *
   * @param prefetchBytes 0 for as much as the ring holds
   */
  public DaemonContext prefetchBytes(long prefetchBytes) {
    this.prefetchBytes = prefetchBytes;
    return this;
  }

  /** Range requests in flight, of all rings together. */
  public int concurrentFetches() {
    return concurrentFetches;
  }

  /**
   * Sets the range requests in flight, of all rings together ({@code --fetches}).
   *
   * @param concurrentFetches at least 1
   */
  public DaemonContext concurrentFetches(int concurrentFetches) {
    this.concurrentFetches = concurrentFetches;
    return this;
  }

  /** How often wrong bytes are fetched before the step counts as corrupt. */
  public int fetchAttempts() {
    return fetchAttempts;
  }

  /**
   * Sets how often wrong bytes are fetched before the step counts as corrupt ({@code
   * --fetch-attempts}).
   *
   * @param fetchAttempts at least 1
   */
  public DaemonContext fetchAttempts(int fetchAttempts) {
    this.fetchAttempts = fetchAttempts;
    return this;
  }

  /** Bytes of memory left to others. */
  public long reserveBytes() {
    return reserveBytes;
  }

  /**
   * Sets the bytes of memory left to others, such as NCCL ({@code --reserve}).
   *
   * @param reserveBytes bytes
   */
  public DaemonContext reserveBytes(long reserveBytes) {
    this.reserveBytes = reserveBytes;
    return this;
  }

  /** Port of the metrics on the loopback address. */
  public int metricsPort() {
    return metricsPort;
  }

  /**
   * Sets the port of the metrics on the loopback address ({@code --metrics-port}).
   *
   * @param metricsPort 0 for a free one, named in {@code daemon.json}
   */
  public DaemonContext metricsPort(int metricsPort) {
    this.metricsPort = metricsPort;
    return this;
  }

  /** What becomes of the daemon when a root holds no stream that it can read. */
  public Unopened unopened() {
    return unopened;
  }

  /**
   * Sets what becomes of the daemon when a root holds no stream that it can read, or its store
   * refuses it. A store that cannot be reached is waited for in any case.
   *
   * @param unopened wait or fail
   */
  public DaemonContext unopened(Unopened unopened) {
    this.unopened = unopened;
    return this;
  }

  /** What becomes of a step whose bytes stay wrong. */
  public OnCorrupt onCorrupt() {
    return onCorrupt;
  }

  /**
   * Sets what becomes of a step whose bytes stay wrong ({@code --on-corrupt}).
   *
   * @param onCorrupt fail, skip or retry
   */
  public DaemonContext onCorrupt(OnCorrupt onCorrupt) {
    this.onCorrupt = onCorrupt;
    return this;
  }

  /** Longest wait for the local ranks that were announced, nanoseconds. */
  public long localReadersTimeoutNs() {
    return localReadersTimeoutNs;
  }

  /**
   * Sets the longest wait for the local ranks that were announced ({@code --local-ranks-timeout}).
   *
   * @param localReadersTimeoutNs nanoseconds
   */
  public DaemonContext localReadersTimeoutNs(long localReadersTimeoutNs) {
    this.localReadersTimeoutNs = localReadersTimeoutNs;
    return this;
  }

  /** The monotonic clock. */
  public NanoClock nanoClock() {
    return nanoClock;
  }

  /**
   * Sets the monotonic clock.
   *
   * @param nanoClock the clock
   */
  public DaemonContext nanoClock(NanoClock nanoClock) {
    this.nanoClock = nanoClock;
    return this;
  }

  /** The wall clock, as ranks see it. */
  public EpochClock epochClock() {
    return epochClock;
  }

  /**
   * Sets the wall clock.
   *
   * @param epochClock the clock
   */
  public DaemonContext epochClock(EpochClock epochClock) {
    this.epochClock = epochClock;
    return this;
  }

  /** The seed of ids and of the spacing of retries. */
  public long seed() {
    return seed;
  }

  /**
   * Sets the seed; two daemons must never share one.
   *
   * @param seed any value
   */
  public DaemonContext seed(long seed) {
    this.seed = seed;
    return this;
  }

  /** The operating system. */
  public NativeMemory memory() {
    return memory;
  }

  /**
   * Sets the operating system.
   *
   * @param memory the system
   */
  public DaemonContext memory(NativeMemory memory) {
    this.memory = memory;
    return this;
  }

  /** Takes what the daemon has to say to people. */
  public Consumer<String> lines() {
    return lines;
  }

  /**
   * Sets who takes what the daemon has to say to people, a line at a time, on any thread.
   *
   * @param lines must not block
   */
  public DaemonContext lines(Consumer<String> lines) {
    this.lines = lines;
    return this;
  }

  /** Opens the store of a stream, without retries of its own; the daemon closes it. */
  public Function<String, ObjectStore> storeSupplier() {
    Function<String, ObjectStore> supplier = storeSupplier;
    return supplier == null ? url -> Stores.open(url, environment) : supplier;
  }

  /**
   * Replaces how the store of a stream is opened: for tests that inject faults.
   *
   * @param storeSupplier from URL to store
   */
  public DaemonContext storeSupplier(Function<String, ObjectStore> storeSupplier) {
    this.storeSupplier = storeSupplier;
    return this;
  }
}
