package io.batchweave.benchmarks;

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

  /** Seconds that the bare way takes for so many objects. */
  double bare(ByteBuffer object, int count, String folder) throws IOException;

  /**
   * A bucket.
   *
   * @param server where
   * @param client puts bare objects
   * @param place where the server keeps the store's objects
   */
  record S3(LoopbackS3 server, BarePut client, Path place) implements IngestTarget {
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
    public double bare(ByteBuffer object, int count, String folder) {
      ArrayDeque<CompletableFuture<Void>> inFlight = new ArrayDeque<>();
      long beganNs = System.nanoTime();
      for (int i = 0; i < count; i++) {
        if (inFlight.size() == IN_FLIGHT) {
          inFlight.removeFirst().join();
        }
        inFlight.addLast(client.put(server.objectPath(folder + "/" + i), object));
      }
      inFlight.forEach(CompletableFuture::join);
      return (System.nanoTime() - beganNs) / 1e9;
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

    @Override
    public double bare(ByteBuffer object, int count, String folder) throws IOException {
      Path target = Files.createDirectory(place.resolve(folder));
      try (ExecutorService threads = Executors.newFixedThreadPool(IN_FLIGHT)) {
        List<CompletableFuture<Void>> all = new ArrayList<>();
        long beganNs = System.nanoTime();
        for (int i = 0; i < count; i++) {
          Path file = target.resolve("object" + i);
          ByteBuffer bytes = object.duplicate();
          all.add(CompletableFuture.runAsync(() -> write(file, bytes), threads));
        }
        all.forEach(CompletableFuture::join);
        return (System.nanoTime() - beganNs) / 1e9;
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
