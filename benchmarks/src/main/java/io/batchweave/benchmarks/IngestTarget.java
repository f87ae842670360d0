package io.batchweave.benchmarks;

import io.batchweave.benchmarks.BareS3.Upload;
import io.batchweave.format.ObjectNames;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Where batches are brought, and how the same bytes get there without us: the ceiling. */
sealed interface IngestTarget {
  /** Writes at a time, on either way. */
  int IN_FLIGHT = 4;

  /** Its name in a table. */
  String name();

  /** The root of a store. */
  String url(String folder);

  /** Where folders of both sides lie. */
  Path place();

  /** Variables for opening the store. */
  Map<String, String> environment();

  /** Makes what a producer's stream has once it has run for a while, where that costs time. */
  void age(String folder, String producerId) throws IOException;

  /** Bytes from which on what a round takes does not hang on how it begins and ends. */
  long roundBytes();

  /** What it took, opening and closing not included. */
  record Spent(double seconds, long cpuNs) {
    /** From two moments on. */
    static Spent since(long beganNs, long cpuBeganNs) {
      return new Spent((System.nanoTime() - beganNs) / 1e9, ProcessTime.nanos() - cpuBeganNs);
    }
  }

  /** Brings the same bytes without us. */
  interface BareWay {
    /** So many objects. */
    Spent bring(ByteBuffer object, int count, String folder) throws IOException;
  }

  /**
   * The bare way with the store's own requests; where they differ, also the one with those of the
   * client as it comes.
   *
   * @param objectBytes length of an object
   */
  List<BareWay> bareWays(int objectBytes);

  /**
   * A bucket.
   *
   * @param server where
   * @param place where the server keeps the store's objects
   */
  record S3(LoopbackS3 server, Path place) implements IngestTarget {
    @Override
    public String name() {
      return server.server();
    }

    @Override
    public String url(String folder) {
      return SmallBatches.under(server.url(), folder);
    }

    @Override
    public Map<String, String> environment() {
      return server.environment();
    }

    @Override
    public void age(String folder, String producerId) {}

    @Override
    public long roundBytes() {
      return 1L << 30;
    }

    @Override
    public List<BareWay> bareWays(int objectBytes) {
      BareWay asItComes =
          (object, count, folder) -> bare(Upload.AS_IT_COMES, object, count, folder);
      BareWay asWe = (object, count, folder) -> bare(Upload.AS_THE_STORE, object, count, folder);
      return BareS3.splitsOtherwise(objectBytes) ? List.of(asWe, asItComes) : List.of(asWe);
    }

    /** By a client of its own, as the store has one: it has sent little, to make the stream. */
    private Spent bare(Upload upload, ByteBuffer object, int count, String folder) {
      try (BareS3 client = new BareS3(server)) {
        client.put(server.objectPath(folder + "/first"), ByteBuffer.allocate(1), upload).join();
        ArrayDeque<CompletableFuture<Void>> inFlight = new ArrayDeque<>();
        long cpuNs = ProcessTime.nanos();
        long beganNs = System.nanoTime();
        for (int i = 0; i < count; i++) {
          if (inFlight.size() == IN_FLIGHT) {
            inFlight.removeFirst().join();
          }
          inFlight.addLast(client.put(server.objectPath(folder + "/" + i), object, upload));
        }
        inFlight.forEach(CompletableFuture::join);
        return Spent.since(beganNs, cpuNs);
      }
    }
  }

  /**
   * A directory; both ways wait for the disk.
   *
   * @param place which
   */
  record Directory(Path place) implements IngestTarget {
    private static final int CHUNK_BYTES = 256 << 10;

    @Override
    public String name() {
      return "files";
    }

    @Override
    public String url(String folder) {
      return "file:" + place.resolve(folder);
    }

    @Override
    public Map<String, String> environment() {
      return Map.of();
    }

    /** All folders for data objects: each is made, and synced, for the first object in it. */
    @Override
    public void age(String folder, String producerId) throws IOException {
      for (int group = 0; group < ObjectNames.DATA_GROUPS; group++) {
        String data = ObjectNames.dataGroup(group) + producerId;
        Files.createDirectories(place.resolve(folder).resolve(data));
      }
    }

    /**
     * Disks take a gigabyte faster than what follows; see {@link Ingest} for why it is not three.
     */
    @Override
    public long roundBytes() {
      return 2L << 30;
    }

    @Override
    public List<BareWay> bareWays(int objectBytes) {
      return List.of(this::bare);
    }

    private Spent bare(ByteBuffer object, int count, String folder) throws IOException {
      Path target = Files.createDirectory(place.resolve(folder));
      try (ExecutorService threads = Executors.newFixedThreadPool(IN_FLIGHT)) {
        List<CompletableFuture<Void>> all = new ArrayList<>();
        long cpuNs = ProcessTime.nanos();
        long beganNs = System.nanoTime();
        for (int i = 0; i < count; i++) {
          Path file = target.resolve("object" + i);
          ByteBuffer bytes = object.duplicate();
          all.add(CompletableFuture.runAsync(() -> write(file, bytes), threads));
        }
        all.forEach(CompletableFuture::join);
        return Spent.since(beganNs, cpuNs);
      }
    }

    private static Path folderOf(Path file) {
      return Objects.requireNonNull(file.getParent());
    }

    private static void write(Path file, ByteBuffer bytes) {
      try (FileChannel channel =
              FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
          FileChannel folder = FileChannel.open(folderOf(file), StandardOpenOption.READ)) {
        int end = bytes.limit();
        while (bytes.position() < end) {
          bytes.limit(Math.min(end, bytes.position() + CHUNK_BYTES));
          channel.write(bytes);
        }
        channel.force(true);
        folder.force(true);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
