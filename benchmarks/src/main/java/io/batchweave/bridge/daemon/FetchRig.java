package io.batchweave.bridge.daemon;

import io.batchweave.benchmarks.DirectoryTree;
import io.batchweave.benchmarks.LoopbackS3;
import io.batchweave.bridge.memory.Headroom;
import io.batchweave.bridge.memory.MappedChecksum;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.Protection;
import io.batchweave.bridge.memory.RingAllocation;
import io.batchweave.bridge.memory.SharedDirectory;
import io.batchweave.bridge.ring.FetchMode;
import io.batchweave.bridge.ring.RingAbi;
import io.batchweave.bridge.ring.RingData;
import io.batchweave.format.SliceEntry;
import io.batchweave.format.TgbLayout;
import io.batchweave.read.SlicePlan;
import io.batchweave.store.ByteRange;
import io.batchweave.store.MeteredStore;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Payload;
import io.batchweave.store.RangeReceiver;
import io.batchweave.store.Stores;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.zip.CRC32C;
import org.agrona.concurrent.SystemNanoClock;

/**
 * The daemon's way from store to ring without Aeron and ranks: the same store with the same
 * decorators, fetcher, ring allocation and mapping, and the caller's thread does what the daemon's
 * agent does: a duty cycle, then the doorbell's idle strategy.
 */
final class FetchRig implements AutoCloseable {
  /** Slices of an object; a node of eight ranks reads all of them by one request. */
  static final int SLICES = 8;

  private static final int FETCHES = 8;
  private static final long UPLOAD_CHUNK_BYTES = 1 << 20;
  private static final int ATTEMPTS = 3;
  private static final NativeMemory MEMORY = NativeMemory.system();
  private static final SystemNanoClock CLOCK = SystemNanoClock.INSTANCE;

  /**
   * An object on the store and what the daemon plans for it.
   *
   * @param key of the object
   * @param lengthBytes of the object
   * @param checked its slices with their checksums
   * @param unchecked the same range without slices: nothing is looked at
   */
  record Subject(String key, long lengthBytes, RegionPlan checked, RegionPlan unchecked) {
    /** Where the object's first byte goes, from the start of a region. */
    long offset() {
      return checked.parts().getFirst().offset();
    }
  }

  private final OwnedParts parts = new OwnedParts();
  private final LoopbackS3 server;
  private final MeteredStore store;
  private final ObjectStore byFile;
  private final Path objects;
  private final RingData ring;
  private final long ringBytes;
  private final DoorbellIdleStrategy doorbell;
  private final Fetcher fetcher;
  private long cursor;

  /** Told the end of a fetch. */
  private static final class End implements RegionFetch.Listener {
    private boolean ended;
    private String wrong = "";

    @Override
    public void onFetched(RegionFetch fetch) {
      ended = true;
    }

    @Override
    public void onFailed(RegionFetch fetch, FetchFailure failure) {
      wrong = failure.text();
      ended = true;
    }

    @Override
    public void onStopped(RegionFetch fetch) {
      wrong = "stopped";
      ended = true;
    }
  }

  /** Starts server, store and ring. */
  FetchRig(long ringBytes) throws IOException {
    this.ringBytes = ringBytes;
    try {
      objects = ownDirectory(Path.of(System.getProperty("java.io.tmpdir")));
      Path directory = ownDirectory(Path.of("/dev/shm"));
      server = parts.own(LoopbackS3.start(objects));
      store = parts.own(new MeteredStore(Stores.open(server.url(), server.environment()), CLOCK));
      byFile = byFile(store);
      Path file = directory.resolve(RingAbi.dataName(0));
      new RingAllocation(MEMORY, new Headroom(MEMORY), 0).create(file, ringBytes, 0600);
      ring = parts.own(RingData.open(MEMORY, file, ringBytes, Protection.READ_WRITE));
      // A ring is touched in its first lap; what is measured is every lap after that.
      ring.mapping().segment().fill((byte) 1);
      doorbell =
          parts.own(new DoorbellIdleStrategy(MEMORY, directory, SharedDirectory.ALONE_FILE_MODE));
      fetcher =
          parts.own(
              new Fetcher(
                  new Fetcher.Settings(FETCHES, ATTEMPTS, DaemonContext.OnCorrupt.FAIL, 1),
                  CLOCK,
                  new DaemonMetrics(),
                  doorbell::wake));
    } catch (IOException | RuntimeException | Error e) {
      close();
      throw e;
    }
  }

  private Path ownDirectory(Path parent) throws IOException {
    Path directory = DirectoryTree.make(parent);
    parts.own(() -> DirectoryTree.delete(directory));
    return directory;
  }

  LoopbackS3 server() {
    return server;
  }

  /** The store, with its decorators. */
  ObjectStore store() {
    return store;
  }

  /** The same, where nobody takes the bytes: it writes them into the ring's file. */
  ObjectStore byFile() {
    return byFile;
  }

  private static ObjectStore byFile(ObjectStore store) {
    return (ObjectStore)
        Proxy.newProxyInstance(
            ObjectStore.class.getClassLoader(),
            new Class<?>[] {ObjectStore.class},
            (proxy, method, arguments) -> {
              if (method.getName().equals("getInto")) {
                RangeReceiver taker = (RangeReceiver) arguments[4];
                arguments[4] =
                    new RangeReceiver() {
                      @Override
                      public void onBegin() {
                        taker.onBegin();
                      }

                      @Override
                      public void onWritten(long writtenBytes) {
                        taker.onWritten(writtenBytes);
                      }
                    };
              }
              return method.invoke(store, arguments);
            });
  }

  Path ringFile() {
    return ring.path();
  }

  /** Where the next region begins: a ring's cursor, which wraps. */
  long nextPosition(long lengthBytes) {
    long page = MEMORY.pageSizeBytes();
    long region = (lengthBytes + page - 1) / page * page;
    long position = cursor + region <= ringBytes ? cursor : 0;
    cursor = position + region;
    return position;
  }

  /** Writes an object of random bytes, through a store of its own: its buffers go with it. */
  Subject upload(long sliceBytes) throws IOException {
    String key = "data/00/bench/" + sliceBytes + ".tgb";
    List<SlicePlan.PlannedSlice> slices = new ArrayList<>();
    Path file = objects.resolve("upload");
    SplittableRandom random = new SplittableRandom(sliceBytes);
    byte[] chunk = new byte[Math.toIntExact(Math.min(sliceBytes, UPLOAD_CHUNK_BYTES))];
    long end = 0;
    try (OutputStream out = Files.newOutputStream(file)) {
      for (int dp = 0; dp < SLICES; dp++) {
        long padding = TgbLayout.paddingAfter(end);
        out.write(new byte[(int) padding]);
        CRC32C crc = new CRC32C();
        for (long left = sliceBytes; left > 0; left -= chunk.length) {
          int length = (int) Math.min(left, chunk.length);
          random.nextBytes(chunk);
          out.write(chunk, 0, length);
          crc.update(chunk, 0, length);
        }
        long offset = end + padding;
        end = offset + sliceBytes;
        SliceEntry entry = new SliceEntry(offset, sliceBytes, (int) crc.getValue(), 1, 1, 1);
        slices.add(new SlicePlan.PlannedSlice(dp, 0, offset, entry));
      }
    }
    try (ObjectStore uploading = Stores.open(server.url(), server.environment())) {
      uploading.put(key, Payload.ofFile(file, 0, end)).join();
    }
    Files.delete(file);
    ByteRange range = new ByteRange(0, end);
    RegionPlan checked =
        RegionPlan.of(0, new SlicePlan(key, List.of(new SlicePlan.Range(range, slices))));
    RegionPlan unchecked =
        new RegionPlan(
            0,
            key,
            List.of(
                new RegionPlan.Part(
                    new SlicePlan.Range(range, List.of()), checked.parts().getFirst().offset())),
            checked.lengthBytes());
    return new Subject(key, end, checked, unchecked);
  }

  /** Fetches a region as the daemon does and waits for it. */
  void fetch(RegionPlan plan, long position) {
    fetchAll(plan, List.of(position));
  }

  /** Fetches a region to several places at once and waits for all. */
  void fetchAll(RegionPlan plan, List<Long> positions) {
    fetchAll(store, plan, positions);
  }

  /** The same from another store than this rig's own. */
  void fetchAll(ObjectStore from, RegionPlan plan, List<Long> positions) {
    List<End> ends = new ArrayList<>();
    doorbell.reset();
    for (long position : positions) {
      End end = new End();
      ends.add(end);
      fetcher.start(
          new RegionFetch(
              from,
              plan,
              new RegionFetch.Target(ring.path(), ring.mapping(), position),
              FetchMode.FRESH,
              end));
    }
    int done = 0;
    while (done < ends.size()) {
      doorbell.beforeDutyCycle();
      doorbell.idle(fetcher.doWork());
      while (done < ends.size() && ends.get(done).ended) {
        done++;
      }
    }
    for (End end : ends) {
      if (!end.wrong.isEmpty()) {
        throw new IllegalStateException("the fetch failed: " + end.wrong);
      }
    }
  }

  /** Overwrites the place of a region, so that what is found there later was fetched. */
  void clear(Subject subject, long position) {
    ring.mapping()
        .segment()
        .asSlice(position + subject.offset(), subject.lengthBytes())
        .fill((byte) 0);
  }

  /** Refuses a figure whose bytes did not arrive. */
  void requireArrived(Subject subject, long position, String who) {
    MappedChecksum checksum = new MappedChecksum();
    for (SlicePlan.PlannedSlice slice : subject.checked().parts().getFirst().range().slices()) {
      int found =
          checksum.crc32c(
              ring.mapping().segment(),
              position + subject.offset() + slice.offsetInRange(),
              slice.entry().lengthBytes());
      if (found != slice.entry().crc32c()) {
        throw new IllegalStateException(
            "the bytes did not arrive: by=" + who + " key=" + subject.key() + " dp=" + slice.dp());
      }
    }
  }

  @Override
  public void close() {
    parts.close();
  }
}
