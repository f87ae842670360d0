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
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.agrona.concurrent.SystemNanoClock;

/**
 * The files of a daemon with one ring and one rank attached to it, and the daemon's hand: whoever
 * holds this publishes steps of eight small slices. One thread.
 */
final class ReadyRing implements AutoCloseable {
  private static final int SLICES = 8;
  private static final int SLICE_BYTES = 64;
  private static final int DESCRIPTORS = 16;
  private static final int MODE = 0600;
  private static final NativeMemory MEMORY = NativeMemory.system();
  private static final Id128 GENERATION = new Id128(3, 4);

  private final Deque<AutoCloseable> owned = new ArrayDeque<>();
  private final MemorySegment[] regions = new MemorySegment[DESCRIPTORS];
  private final List<TableEntry> entries = new ArrayList<>();
  private final List<Coordinate> coordinates = new ArrayList<>();
  private final int page = MEMORY.pageSizeBytes();
  private final FutexWaiter waiter;
  private final Doorbell doorbell;
  private final ControlFile control;
  private final RankRing rank;
  private long nextStep;

  ReadyRing() throws IOException {
    Path directory = DirectoryTree.make(Path.of("/dev/shm"));
    owned.push(() -> DirectoryTree.delete(directory));
    waiter = own(MEMORY.newWaiter());
    own(
        LockedMapping.create(
            MEMORY, directory.resolve(RingAbi.DAEMON_LOCK_NAME), RingAbi.DAEMON_LOCK_LENGTH, MODE));
    doorbell = own(Doorbell.create(MEMORY, directory, MODE));
    Path file = directory.resolve(RingAbi.dataName(0));
    long ringBytes = (long) DESCRIPTORS * page;
    new RingAllocation(MEMORY, new Headroom(MEMORY), 0).create(file, ringBytes, MODE);
    RingData data = own(RingData.open(MEMORY, file, ringBytes, Protection.READ_WRITE));
    for (int slot = 0; slot < DESCRIPTORS; slot++) {
      regions[slot] = data.mapping().segment().asSlice((long) slot * page, page);
    }
    for (int dp = 0; dp < SLICES; dp++) {
      Coordinate coordinate = new Coordinate(dp, 0);
      coordinates.add(coordinate);
      long offset = TableDescriptor.tableLength(SLICES) + (long) dp * SLICE_BYTES;
      entries.add(new TableEntry(coordinate, offset, SLICE_BYTES, 0, 1, 1, 1));
    }
    control = own(ControlFile.create(MEMORY, directory, header(data, ringBytes), MODE, waiter));
    control.open();
    rank = own(attach(directory));
  }

  private <T extends AutoCloseable> T own(T part) {
    owned.push(part);
    return part;
  }

  private GenerationHeader header(RingData data, long ringBytes) {
    return new GenerationHeader(
        new GenerationHeader.RingFile(0, ringBytes, data.identity().inode(), page),
        1,
        GENERATION,
        0,
        DESCRIPTORS,
        1,
        new GenerationHeader.SessionHeader(new Id128(1, 2), "group", "session", 1, SLICES, 1, 1),
        coordinates);
  }

  private RankRing attach(Path directory) {
    ReaderHeader header =
        new ReaderHeader(new Id128(5, 6), Id128.NONE, 1, 0, new Coordinate(0, 0), SLICES, 1, 1);
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
                new Grid(SLICES, 1)),
            null);
    if (!there) {
      throw new IllegalStateException("the rank does not find the generation");
    }
    return attached;
  }

  /** What the daemon does once the bytes of a step are checked. Looks at no acks. */
  void publish() {
    long n = nextStep++;
    int slot = (int) (n & (DESCRIPTORS - 1));
    control.allocate(n, new StepRegion(n, n + 1, (long) slot * page, page));
    TableDescriptor.write(regions[slot], n, entries);
    control.publish(n, ControlDescriptor.KIND_READY, 0, "");
  }

  /** The rank. */
  RankRing rank() {
    return rank;
  }

  /** What a release costs at least: a bell that nobody hears. */
  void ring() {
    doorbell.ring(waiter);
  }

  @Override
  public void close() {
    while (!owned.isEmpty()) {
      try {
        owned.pop().close();
      } catch (Exception e) {
        throw new IllegalStateException("the ring cannot be taken down", e);
      }
    }
  }
}
