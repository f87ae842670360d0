package io.batchweave.bridge.ring;

import io.batchweave.bridge.memory.Headroom;
import io.batchweave.bridge.memory.LockedMapping;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.Protection;
import io.batchweave.bridge.memory.RingAllocation;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * A daemon without a store and without Aeron, for tests of the reading side: real files, real
 * locks, bytes that can be checked. Answers to Hello are collected by reader.
 */
public final class RingHost implements AutoCloseable {
  /** What a rank was told. */
  public record Told(
      RingCommand.@Nullable Welcome welcome,
      RingCommand.@Nullable Refuse refuse,
      String controlFile,
      Id128 generationId) {}

  public static final SessionKey SESSION = new SessionKey(new Id128(7, 8), "job", "run-0", 4, 1);

  private final NativeMemory memory = NativeMemory.system();
  private final LockedMapping lock;
  private final RingData data;
  private final Doorbell doorbell;
  private final RingFiles files;
  private final SplittableRandom random = new SplittableRandom(5);
  private final Map<Id128, Told> told = new HashMap<>();
  private final List<RingCommand.Fetch> held = new ArrayList<>();
  private final int pages;
  private long endStep;
  private boolean holdFetches;
  private @Nullable FailReason failure;

  /**
   * Starts one.
   *
   * @param directory the daemon directory
   * @param ringPages pages of the ring
   * @param regionPages pages of each step
   * @param endStep where the stream is sealed
   */
  public RingHost(Path directory, int ringPages, int regionPages, long endStep) {
    this.pages = regionPages;
    this.endStep = endStep;
    this.lock =
        Objects.requireNonNull(
            LockedMapping.open(
                memory,
                directory.resolve(RingAbi.DAEMON_LOCK_NAME),
                RingAbi.DAEMON_LOCK_LENGTH,
                0600));
    this.doorbell = Doorbell.create(memory, directory, 0600);
    int page = memory.pageSizeBytes();
    Path path = directory.resolve(RingAbi.dataName(0));
    new RingAllocation(memory, new Headroom(memory), 0).create(path, (long) ringPages * page, 0600);
    this.data = RingData.open(memory, path, (long) ringPages * page, Protection.READ_WRITE);
    RingSettings settings =
        new RingSettings(0, (long) ringPages * page, page, 64, 1, 1_000_000_000L);
    this.files =
        new RingFiles(
            memory,
            data,
            settings,
            0600,
            () -> new Id128(random.nextLong(), random.nextLong()),
            new Answers());
  }

  private final class Answers implements RingFiles.Handler {
    @Override
    public void onFetch(RingCommand.Fetch fetch) {
      held.add(fetch);
    }

    @Override
    public void onCancel(RingCommand.Cancel cancel) {
      RingCommand.Fetch found = null;
      for (RingCommand.Fetch fetch : held) {
        found = fetch.fetchId() == cancel.fetchId() ? fetch : found;
      }
      if (found != null) {
        held.remove(found);
        files.machine().onFetchFinished(found.fetchId(), FetchOutcome.CANCELLED, null, "");
      }
    }

    @Override
    public void onWelcome(RingCommand.Welcome welcome, ControlFile control) {
      told.put(
          welcome.reader(),
          new Told(welcome, null, control.name(), control.header().generationId()));
    }

    @Override
    public void onRefuse(RingCommand.Refuse refuse) {
      told.put(refuse.reader(), new Told(null, refuse, "", Id128.NONE));
    }

    @Override
    public long viewVersion(SessionKey session) {
      return 3;
    }
  }

  /** The ring with its files. */
  public RingFiles files() {
    return files;
  }

  /** Moves the end of the stream. */
  public void endStep(long step) {
    endStep = step;
  }

  /** Whether fetches stay unfinished. */
  public void holdFetches(boolean hold) {
    holdFetches = hold;
  }

  /** Lets every further fetch fail, or succeed again. */
  public void failure(@Nullable FailReason reason) {
    failure = reason;
  }

  /** Says Hello for a rank. */
  public void hello(Id128 reader, Id128 previous, int dp, long nextStep, int localReaders) {
    RingFiles.ReaderCheck check = files.openReader(reader);
    if (check != RingFiles.ReaderCheck.GOOD) {
      throw new IllegalStateException("reader file: " + check);
    }
    files
        .machine()
        .onHello(
            new ReaderHello(
                reader,
                previous,
                SESSION,
                List.of(new Coordinate(dp, 0)),
                nextStep,
                localReaders,
                (long) pages * memory.pageSizeBytes()),
            now());
    files.drain(now());
  }

  /** What a reader was told, once. */
  public @Nullable Told told(Id128 reader) {
    return told.remove(reader);
  }

  private static long now() {
    return System.nanoTime();
  }

  /** One duty cycle: offers a step, finishes fetches, looks at ranks. */
  public void work() {
    RingMachine machine = files.machine();
    long step = machine.wantedStep();
    if (step >= 0) {
      if (step >= endStep) {
        machine.onEndOfStream(step);
      } else {
        machine.onStep(step, step + 1, (long) pages * memory.pageSizeBytes());
      }
      files.drain(now());
    }
    if (!holdFetches) {
      List<RingCommand.Fetch> due = List.copyOf(held);
      held.clear();
      for (RingCommand.Fetch fetch : due) {
        finish(fetch);
      }
    }
    files.poll(now());
  }

  /** Works until the doorbell rings or the time is over. */
  public void workAndWait(io.batchweave.bridge.memory.FutexWaiter waiter, long timeoutNs) {
    int word = doorbell.wordLoadAcquire();
    work();
    if (files.machine().wantedStep() < 0) {
      doorbell.await(waiter, word, timeoutNs);
    }
  }

  private void finish(RingCommand.Fetch fetch) {
    FailReason reason = failure;
    if (reason != null) {
      files
          .machine()
          .onFetchFinished(fetch.fetchId(), FetchOutcome.FAILED, reason, "object=gone status=404");
    } else {
      write(fetch.region());
      files.machine().onFetchFinished(fetch.fetchId(), FetchOutcome.COMPLETE, null, "");
    }
    files.drain(now());
  }

  private void write(StepRegion region) {
    MemorySegment bytes = data.region(region);
    List<Coordinate> coordinates = files.machine().coordinates();
    long sliceLength = sliceLength(region.lengthBytes(), coordinates.size());
    List<TableEntry> entries = new ArrayList<>();
    long offset = TableDescriptor.tableLength(coordinates.size());
    for (Coordinate coordinate : coordinates) {
      entries.add(new TableEntry(coordinate, offset, sliceLength, 0, 1, 2, 3));
      for (long i = 0; i + 8 <= sliceLength; i += 8) {
        bytes.set(ValueLayout.JAVA_LONG, offset + i, pattern(region.step(), coordinate.dp(), i));
      }
      offset += sliceLength;
    }
    TableDescriptor.write(bytes, region.step(), entries);
  }

  private static long sliceLength(long regionLength, int slices) {
    return (regionLength - TableDescriptor.tableLength(slices)) / slices / 64 * 64;
  }

  /** What the bytes of a slice must be. */
  public static long pattern(long step, int dp, long position) {
    return step * 1_000_003 + dp * 31L + position;
  }

  /** Gives the daemon's lock back, as dying would. */
  public void loseLock() {
    lock.close();
  }

  @Override
  public void close() {
    files.close();
    data.close();
    doorbell.close();
    lock.close();
  }
}
