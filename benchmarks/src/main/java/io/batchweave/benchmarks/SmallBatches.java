package io.batchweave.benchmarks;

import io.batchweave.Bytes;
import io.batchweave.client.Producer;
import io.batchweave.client.ProducerContext;
import io.batchweave.client.Streams;
import io.batchweave.format.Grid;
import io.batchweave.produce.TgbBuilder;
import io.batchweave.store.MeteredStore;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Payload;
import io.batchweave.store.StoreMeter;
import io.batchweave.store.StoreOperation;
import io.batchweave.store.Stores;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.SystemNanoClock;

/**
 * Question: how many batches of 1 KiB per second does one producer make and commit, and with how
 * many requests?
 *
 * <p>Ceiling: what the store takes of the same bytes in objects of 8 MiB, eight at a time, in the
 * same process and in turn: the rate at which only the bandwidth counts. On S3 in a process of its
 * own, and on the file store, which waits for the disk.
 */
final class SmallBatches implements Bar {
  private static final double GOAL = 10_000;
  private static final int SLICE_BYTES = 1_024;
  private static final int BATCHES = 30_000;
  private static final int OBJECT_BYTES = 8 << 20;
  private static final int IN_FLIGHT = 8;
  private static final Grid GRID = new Grid(1, 1);
  private static final long TIMEOUT_NS = TimeUnit.MINUTES.toNanos(2);

  @Override
  public String name() {
    return "small-batches";
  }

  @Override
  public String question() {
    return "batches of 1 KiB that one producer commits per second, against the store's bandwidth";
  }

  /** What one store came to. */
  private static final class Taken {
    final Sample perSecond = new Sample();
    final Sample ceiling = new Sample();
    final Sample requests = new Sample();
  }

  @Override
  public Verdict measure(BenchRun run) throws IOException {
    Path directory = DirectoryTree.make(Path.of(System.getProperty("java.io.tmpdir")));
    Taken s3 = new Taken();
    Taken file = new Taken();
    try (LoopbackS3 server = LoopbackS3.start(directory.resolve("s3"))) {
      String fileUrl = "file:" + directory;
      round(server.url(), server.environment(), "warm-up", new Taken());
      for (int i = 0; i < run.rounds(10); i++) {
        round(server.url(), server.environment(), "round" + i, s3);
        round(fileUrl, Map.of(), "files" + i, file);
      }
      run.say(
          "  store             batches/s [95 %]     bandwidth alone  requests per 1,000 batches");
      say(run, server.server(), s3);
      say(run, "files", file);
    } finally {
      DirectoryTree.delete(directory);
    }
    double value = s3.perSecond.median();
    return new Verdict(
            name(), value, "batches/s", s3.ceiling.median(), ">= " + (long) GOAL, value >= GOAL)
        .within(s3.perSecond.interval());
  }

  private static void say(BenchRun run, String store, Taken taken) {
    Sample.Interval interval = taken.perSecond.interval();
    run.say(
        "  %-16s %7.0f [%.0f, %.0f] %16.0f %12.1f"
            .formatted(
                store,
                taken.perSecond.median(),
                interval.low(),
                interval.high(),
                taken.ceiling.median(),
                taken.requests.median()));
  }

  /** The URL of a folder below a root. */
  static String under(String url, String folder) {
    int query = url.indexOf('?');
    return query < 0
        ? url + "/" + folder
        : url.substring(0, query) + "/" + folder + url.substring(query);
  }

  private static void round(
      String url, Map<String, String> environment, String folder, Taken taken) {
    try (MeteredStore store =
        new MeteredStore(
            Stores.openRetrying(under(url, folder), environment), SystemNanoClock.INSTANCE)) {
      Streams.create(store, GRID);
      long dataBytes;
      try (Producer producer = Producer.open(new ProducerContext().store(store).producerId("p"))) {
        Bytes slice = Bytes.wrap(new byte[SLICE_BYTES]);
        StoreMeter before = store.snapshot();
        long beganNs = System.nanoTime();
        for (int i = 0; i < BATCHES; i++) {
          producer.add(new TgbBuilder(GRID).slice(0, 0, slice, 1, 1, 1).build(), Bytes.EMPTY);
        }
        producer.flush(TIMEOUT_NS);
        double seconds = (System.nanoTime() - beganNs) / 1e9;
        StoreMeter after = store.snapshot();
        dataBytes = after.of(StoreOperation.PUT).bytes() - before.of(StoreOperation.PUT).bytes();
        taken.perSecond.add(BATCHES / seconds);
        taken.requests.add((after.requests() - before.requests()) * 1_000.0 / BATCHES);
      }
      taken.ceiling.add(BATCHES / bareSeconds(store, dataBytes));
    }
  }

  private static double bareSeconds(ObjectStore store, long lengthBytes) {
    Payload object = Payload.of(Bytes.wrap(new byte[OBJECT_BYTES]));
    ArrayDeque<CompletableFuture<Void>> inFlight = new ArrayDeque<>();
    long beganNs = System.nanoTime();
    int count = 0;
    for (long left = lengthBytes; left > 0; left -= OBJECT_BYTES) {
      Payload body = left < OBJECT_BYTES ? Payload.of(Bytes.wrap(new byte[(int) left])) : object;
      if (inFlight.size() == IN_FLIGHT) {
        inFlight.removeFirst().join();
      }
      inFlight.addLast(store.put("bare/" + count++, body));
    }
    inFlight.forEach(CompletableFuture::join);
    return (System.nanoTime() - beganNs) / 1e9;
  }
}
