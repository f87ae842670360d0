package io.batchweave.client;

import io.batchweave.Bytes;
import io.batchweave.format.Grid;
import io.batchweave.produce.TgbBuilder;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import java.util.concurrent.TimeUnit;

/**
 * A producer process over the {@link ShuffledSource}: goes on from the recovered state to the end
 * and prints {@code acked SEQ STEP} for each batch. Argument: url.
 */
final class ShuffleMain {
  static final Grid GRID = new Grid(1, 1);

  private ShuffleMain() {}

  public static void main(String[] args) {
    try (ObjectStore store = Stores.openRetrying(args[0], System.getenv());
        Producer producer =
            Producer.open(
                new ProducerContext()
                    .store(store)
                    .producerId("shuffle")
                    .maxPendingBatches(3)
                    .openTimeoutNs(TimeUnit.SECONDS.toNanos(250))
                    .closeTimeoutNs(TimeUnit.SECONDS.toNanos(250))
                    .commitListener(
                        (seq, step) -> System.out.println("acked " + seq + " " + step)))) {
      ShuffledSource source = new ShuffledSource(producer.sourceState());
      while (source.hasNext()) {
        Bytes rows = source.next();
        producer.add(new TgbBuilder(GRID).slice(0, 0, rows, 1, 25, 25).build(), source.state());
      }
    }
  }
}
