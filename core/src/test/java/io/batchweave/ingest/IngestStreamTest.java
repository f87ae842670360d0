package io.batchweave.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.client.Producer;
import io.batchweave.client.ProducerContext;
import io.batchweave.client.ReaderContext;
import io.batchweave.client.StreamReader;
import io.batchweave.client.Streams;
import io.batchweave.format.Grid;
import io.batchweave.format.Limits;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.TgbLayout;
import io.batchweave.read.Coordinate;
import io.batchweave.read.StepResult;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.file.FileObjectStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Files through real producers into a real stream, and out again. */
@Timeout(120)
class IngestStreamTest {
  private static final Grid GRID = new Grid(2, 2);
  private static final long TIMEOUT_NS = TimeUnit.SECONDS.toNanos(30);

  @TempDir private Path root;
  private Path input;

  /** Dies at a batch. */
  private static final class DyingListener implements IngestListener {
    private int batchesLeft;

    DyingListener(int batchesLeft) {
      this.batchesLeft = batchesLeft;
    }

    @Override
    public void onBatch(long seq, String origin, IngestTotals totals) {
      if (batchesLeft-- == 0) {
        throw new MemorySink.Killed();
      }
    }
  }

  @BeforeEach
  void setUp() throws IOException {
    input = Files.createDirectory(root.resolve("input"));
    Random random = new Random(1);
    for (int i = 0; i < 150; i++) {
      byte[] bytes = new byte[random.nextInt(400)];
      random.nextBytes(bytes);
      Files.write(
          input.resolve("a-file-with-a-rather-long-name-%03d".formatted(i * 7 % 150)), bytes);
    }
  }

  private IngestContext context(int shard) {
    return new IngestContext()
        .inputs(List.of(input.toString()))
        .sequenceLength(64)
        .globalBatch(4)
        .shard(new Shard(shard, 2));
  }

  /**
   * Two producers, each killed again and again with batches under way (H2 at this level): every
   * input byte is in the stream exactly once and in order.
   */
  @Test
  void shouldHaveEveryByteOnceWhateverWasKilled() {
    try (ObjectStore store =
        FileObjectStore.open(root.resolve("stream"), FileObjectStore.Durability.PAGE_CACHE, 4)) {
      Streams.create(store, GRID);
      int kills = 0;
      boolean[] done = new boolean[2];
      Random random = new Random(5);
      while (!done[0] || !done[1]) {
        int shard = random.nextInt(2);
        Producer producer = producer(store, shard);
        try {
          int batchesLeft = kills < 12 ? random.nextInt(6) : Integer.MAX_VALUE;
          Ingest.run(context(shard).listener(new DyingListener(batchesLeft)), producer);
          producer.close();
          done[shard] = true;
        } catch (MemorySink.Killed e) {
          producer.abandon();
          kills++;
        }
      }
      assertTrue(kills >= 4, "kills=" + kills);
      assertVerified(store);
    }
  }

  @Test
  void shouldKeepALargeCursorInAnObjectAndGoOnFromIt() throws IOException {
    Random random = new Random(2);
    for (int i = 0; i < 250; i++) {
      Files.writeString(input.resolve("z%016x".formatted(random.nextLong())), "x");
    }
    try (ObjectStore store =
        FileObjectStore.open(root.resolve("stream"), FileObjectStore.Durability.PAGE_CACHE, 4)) {
      Streams.create(store, GRID);
      IngestTotals totals;
      try (Producer producer = producer(store, 0)) {
        totals = Ingest.run(context(0).shard(Shard.ALL), producer);
      }
      try (Producer producer = producer(store, 0)) {
        assertTrue(producer.sourceState().length() > Limits.INLINE_SOURCE_STATE_BYTES);
        assertEquals(totals, Ingest.run(context(0).shard(Shard.ALL), producer));
      }
      try (StreamReader reader = StreamReader.open(new ReaderContext().store(store))) {
        assertEquals(totals.batches(), reader.nextStep());
        StepResult.Ready ready = (StepResult.Ready) reader.await(0, TIMEOUT_NS);
        String name = ObjectNames.data(ready.entry().object());
        Bytes footer =
            store.get(name, TgbLayout.footerRange(ready.entry()), Limits.FOOTER_BYTES).join();
        String origin = TgbLayout.decodeFooter(name, ready.entry(), footer).origin();
        assertTrue(origin.contains("a-file-with-a-rather-long-name-000:0-"), origin);
      }
    }
  }

  @Test
  void shouldRefuseAProducerThatIsNoIngest() {
    try (ObjectStore store =
        FileObjectStore.open(root.resolve("stream"), FileObjectStore.Durability.PAGE_CACHE, 4)) {
      Streams.create(store, new Grid(1, 1));
      try (Producer producer = producer(store, 0)) {
        MemorySink sink = new MemorySink(new Grid(1, 1));
        Ingest.run(
            new IngestContext().inputs(List.of("memory")), sink, new MemorySource().put("/a", "x"));
        producer.add(sink.batches().getFirst(), Bytes.wrap(new byte[] {1, 2, 3}));
      }
      try (Producer producer = producer(store, 0)) {
        BatchWeaveException e =
            assertThrows(BatchWeaveException.class, () -> Ingest.run(context(0), producer));
        assertEquals(Kind.CONFIG, e.kind());
        assertTrue(e.toString().contains("not written by ingest"), e.toString());
      }
    }
  }

  private void assertVerified(ObjectStore store) {
    try (StreamReader reader = StreamReader.open(new ReaderContext().store(store));
        IngestVerifier first = new IngestVerifier(context(0));
        IngestVerifier second = new IngestVerifier(context(1))) {
      for (long step = 0; step < reader.nextStep(); step++) {
        StepResult.Ready ready = (StepResult.Ready) reader.await(step, TIMEOUT_NS);
        List<Bytes> slices = new ArrayList<>();
        for (int i = 0; i < GRID.sliceCount(); i++) {
          slices.add(reader.readSlice(ready, new Coordinate(i / GRID.cp(), i % GRID.cp())));
        }
        boolean isFirst = ready.entry().object().producer().equals("ingest-0");
        (isFirst ? first : second).accept(step, GRID, slices);
      }
      assertNull(first.verdict().problem());
      assertNull(second.verdict().problem());
      assertTrue(first.verdict().bytes() > 5_000 && second.verdict().bytes() > 5_000);
    }
  }

  private static Producer producer(ObjectStore store, int shard) {
    return Producer.open(
        new ProducerContext().store(store).producerId("ingest-" + shard).maxPendingBatches(3));
  }
}
