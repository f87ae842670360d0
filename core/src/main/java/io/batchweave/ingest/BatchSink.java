package io.batchweave.ingest;

import io.batchweave.Bytes;
import io.batchweave.client.Producer;
import io.batchweave.format.Grid;
import io.batchweave.produce.Tgb;

/** Where batches go: a producer, or a list in a test. */
interface BatchSink {
  /** The stream's grid. */
  Grid grid();

  /** The source state committed last; empty if none was. */
  Bytes sourceState();

  /** Takes a batch and the source state after it; answers its seq. */
  long add(Tgb tgb, Bytes sourceState);

  /** A producer as a sink. */
  static BatchSink of(Producer producer) {
    return new BatchSink() {
      @Override
      public Grid grid() {
        return producer.descriptor().grid();
      }

      @Override
      public Bytes sourceState() {
        return producer.sourceState();
      }

      @Override
      public long add(Tgb tgb, Bytes sourceState) {
        return producer.add(tgb, sourceState);
      }
    };
  }
}
