package io.batchweave.verify;

import io.batchweave.Bytes;
import io.batchweave.client.Producer;
import io.batchweave.client.ProducerContext;
import io.batchweave.client.Streams;
import io.batchweave.format.Grid;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SegmentCodec;
import io.batchweave.format.SegmentRecord;
import io.batchweave.format.SnapshotCodec;
import io.batchweave.log.Fold;
import io.batchweave.log.State;
import io.batchweave.produce.Tgb;
import io.batchweave.produce.TgbBuilder;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.file.FileObjectStore;
import io.batchweave.store.file.FileObjectStore.Durability;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.agrona.concurrent.SystemNanoClock;

/** A stream in a directory, made by real producers, and the hands that damage it. */
final class RealStream {
  static final Grid GRID = new Grid(2, 1);

  private final Path root;

  RealStream(Path root) {
    this.root = root;
  }

  ObjectStore open() {
    return FileObjectStore.open(root, Durability.PAGE_CACHE, 8);
  }

  /** Two producers, a snapshot with its segments half-way, and the first one once more. */
  static RealStream make(Path root) {
    RealStream stream = new RealStream(root);
    try (ObjectStore store = stream.open()) {
      Streams.create(store, GRID);
      stream.produce(store, "a", 160);
      stream.produce(store, "b", 140);
      stream.snapshot();
      stream.produce(store, "a", 260);
      stream.snapshot();
      stream.produce(store, "b", 10);
    }
    return stream;
  }

  /** Adds so many batches; every fifth source state is an object of its own. */
  void produce(ObjectStore store, String id, int count) {
    try (Producer producer = Producer.open(new ProducerContext().store(store).producerId(id))) {
      for (int i = 0; i < count; i++) {
        long seq = producer.nextSeq();
        String state = seq % 5 == 0 ? seq + " ".repeat(6_000) : Long.toString(seq);
        var _ = producer.add(tgb(id, seq), bytes(state));
      }
    }
  }

  static Tgb tgb(String id, long seq) {
    TgbBuilder builder = new TgbBuilder(GRID).origin(id + "#" + seq);
    for (int dp = 0; dp < GRID.dp(); dp++) {
      builder.slice(dp, 0, bytes(id + "#" + seq + "/" + dp), 1, 1, 1);
    }
    return builder.build();
  }

  static Bytes bytes(String text) {
    return Bytes.wrap(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Folds what is there. */
  State fold(List<SegmentRecord> segments) throws IOException {
    try (ObjectStore store = open()) {
      State state = State.empty(Streams.describe(store).streamId());
      for (Path file = version(1); Files.exists(file); file = version(state.version() + 1)) {
        String name = ObjectNames.version(state.version() + 1);
        Bytes body = Bytes.wrap(Files.readAllBytes(file));
        segments.addAll(Fold.apply(state, ManifestCodec.decode(name, body)).completed());
      }
      return state;
    }
  }

  /** Writes a snapshot of the head and the segments before it, as a committer does when due. */
  void snapshot() {
    try {
      List<SegmentRecord> segments = new ArrayList<>();
      State state = fold(segments);
      for (SegmentRecord segment : segments) {
        write(ObjectNames.segment(segment.index()), SegmentCodec.encode(segment));
      }
      write(ObjectNames.snapshot(state.version()), SnapshotCodec.encode(state.toRecord()));
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  Path version(long version) {
    return file(ObjectNames.version(version));
  }

  Path file(String key) {
    return root.resolve(key);
  }

  void write(String key, byte[] bytes) throws IOException {
    Files.createDirectories(file(key).resolveSibling("."));
    Files.write(file(key), bytes);
  }

  void flip(String key, long offset) throws IOException {
    byte[] bytes = Files.readAllBytes(file(key));
    bytes[(int) offset] ^= 0x40;
    Files.write(file(key), bytes);
  }

  void truncate(String key, long length) throws IOException {
    byte[] bytes = Files.readAllBytes(file(key));
    Files.write(file(key), java.util.Arrays.copyOf(bytes, (int) length));
  }

  void delete(String key) throws IOException {
    Files.delete(file(key));
  }

  RealStream copyTo(Path target) throws IOException {
    try (Stream<Path> files = Files.walk(root)) {
      for (Path file : files.toList()) {
        Path copy = target.resolve(root.relativize(file).toString());
        if (Files.isDirectory(file)) {
          Files.createDirectories(copy);
        } else {
          Files.copy(file, copy);
        }
      }
    }
    return new RealStream(target);
  }

  VerifyReport verify(Depth depth) {
    try (ObjectStore store = open()) {
      return new Verifier(store, depth, SystemNanoClock.INSTANCE, line -> {}).run();
    }
  }
}
