package io.batchweave.bridge.daemon;

import io.batchweave.benchmarks.DirectoryTree;
import io.batchweave.bridge.memory.FutexWaiter;
import io.batchweave.bridge.memory.Headroom;
import io.batchweave.bridge.memory.LockedMapping;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.Protection;
import io.batchweave.bridge.memory.RingAllocation;
import io.batchweave.bridge.rank.Attacher;
import io.batchweave.bridge.rank.RankRing;
import io.batchweave.bridge.rank.StepLease;
import io.batchweave.bridge.rank.TakeOutcome;
import io.batchweave.bridge.ring.ControlDescriptor;
import io.batchweave.bridge.ring.ControlFile;
import io.batchweave.bridge.ring.Coordinate;
import io.batchweave.bridge.ring.Doorbell;
import io.batchweave.bridge.ring.GenerationHeader;
import io.batchweave.bridge.ring.Id128;
import io.batchweave.bridge.ring.ReaderHeader;
import io.batchweave.bridge.ring.RingAbi;
import io.batchweave.bridge.ring.RingData;
import io.batchweave.bridge.ring.StepRegion;
import io.batchweave.bridge.ring.TableDescriptor;
import io.batchweave.bridge.ring.TableEntry;
import io.batchweave.format.Grid;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.agrona.concurrent.SystemNanoClock;

/**
 * The files of a daemon with one ring and ranks attached to it, and the daemon's hand: whoever
 * holds this publishes steps. All regions share one place in memory: a step is released before the
 * next one is published. One thread.
 */
final class ReadyRing implements AutoCloseable {
  private static final int DESCRIPTORS = 16;
  private static final int MODE = 0600;
  private static final NativeMemory MEMORY = NativeMemory.system();
  private static final Id128 GENERATION = new Id128(3, 4);

  /**
   * What is published, to whom.
   *
   * @param slices of a step, one for each data-parallel rank
   * @param sliceBytes length of each, a multiple of 64
   * @param ranks attached, the first ones
   */
  record Shape(int slices, long sliceBytes, int ranks) {}

  private final Shape shape;
  private final OwnedParts parts = new OwnedParts();
  private final MemorySegment region;
  private final List<TableEntry> entries = new ArrayList<>();
  private final List<Coordinate> coordinates = new ArrayList<>();
  private final int page = MEMORY.pageSizeBytes();
  private final FutexWaiter waiter;
  private final Doorbell doorbell;
  private final ControlFile control;
  private final List<RankRing> ranks = new ArrayList<>();
  private final long regionBytes;
  private long nextStep;

  ReadyRing(Shape shape) throws IOException {
    this.shape = shape;
    long firstSlice = TableDescriptor.tableLength(shape.slices());
    regionBytes = (firstSlice + shape.slices() * shape.sliceBytes() + page - 1) / page * page;
    Path directory = DirectoryTree.make(Path.of("/dev/shm"));
    parts.own(() -> DirectoryTree.delete(directory));
    waiter = parts.own(MEMORY.newWaiter());
    parts.own(
        LockedMapping.create(
            MEMORY, directory.resolve(RingAbi.DAEMON_LOCK_NAME), RingAbi.DAEMON_LOCK_LENGTH, MODE));
    doorbell = parts.own(Doorbell.create(MEMORY, directory, MODE));
    Path file = directory.resolve(RingAbi.dataName(0));
    new RingAllocation(MEMORY, new Headroom(MEMORY), 0).create(file, regionBytes, MODE);
    RingData data = parts.own(RingData.open(MEMORY, file, regionBytes, Protection.READ_WRITE));
    region = data.mapping().segment();
    region.fill((byte) 1);
    for (int dp = 0; dp < shape.slices(); dp++) {
      Coordinate coordinate = new Coordinate(dp, 0);
      coordinates.add(coordinate);
      long offset = firstSlice + dp * shape.sliceBytes();
      entries.add(new TableEntry(coordinate, offset, shape.sliceBytes(), 0, 1, 1, 1));
    }
    control = parts.own(ControlFile.create(MEMORY, directory, header(data), MODE, waiter));
    control.open();
    for (int dp = 0; dp < shape.ranks(); dp++) {
      ranks.add(parts.own(attach(directory, dp)));
    }
  }

  private GenerationHeader header(RingData data) {
    return new GenerationHeader(
        new GenerationHeader.RingFile(0, regionBytes, data.identity().inode(), page),
        1,
        GENERATION,
        0,
        DESCRIPTORS,
        1,
        new GenerationHeader.SessionHeader(
            new Id128(1, 2), "group", "session", 1, shape.slices(), 1, shape.ranks()),
        coordinates);
  }

  private RankRing attach(Path directory, int dp) {
    ReaderHeader header =
        new ReaderHeader(
            new Id128(5, 6 + dp),
            Id128.NONE,
            1,
            dp,
            new Coordinate(dp, 0),
            shape.slices(),
            1,
            shape.ranks());
    RankRing attached = RankRing.create(MEMORY, directory, header, MODE, SystemNanoClock.INSTANCE);
    boolean there =
        attached.attach(
            new Attacher.Attached(
                control.name(),
                RingAbi.dataName(0),
                GENERATION,
                0,
                0,
                new Id128(1, 2),
                1,
                new Grid(shape.slices(), 1)),
            null);
    if (!there) {
      throw new IllegalStateException("the rank does not find the generation");
    }
    return attached;
  }

  /** What the daemon does once the bytes of a step are checked. Looks at no acks. */
  void publish() {
    long n = nextStep++;
    control.allocate(n, new StepRegion(n, n + 1, 0, regionBytes));
    TableDescriptor.write(region, n, entries);
    control.publish(n, ControlDescriptor.KIND_READY, 0, "");
  }

  /** What a rank takes of a step that is ready; whoever gets it releases it. */
  static StepLease take(RankRing rank, long deadlineNs) {
    if (rank.take(deadlineNs) != TakeOutcome.STEP) {
      throw new IllegalStateException("the step is not ready");
    }
    return rank.lease();
  }

  /** The ranks, by their data-parallel coordinate. */
  List<RankRing> ranks() {
    return ranks;
  }

  /** A slice as whoever publishes it has it mapped. */
  MemorySegment slice(int index) {
    return region.asSlice(entries.get(index).offset(), shape.sliceBytes());
  }

  /** What a release costs at least: a bell that nobody hears. */
  void ring() {
    doorbell.ring(waiter);
  }

  /** What the doorbell shows. */
  int bell() {
    return doorbell.wordLoadAcquire();
  }

  /** Sleeps while the doorbell shows that. */
  void awaitBell(FutexWaiter sleeper, int word, long timeoutNs) {
    doorbell.await(sleeper, word, timeoutNs);
  }

  @Override
  public void close() {
    parts.close();
  }
}
