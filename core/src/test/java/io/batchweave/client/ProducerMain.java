package io.batchweave.client;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.store.FaultStore;
import io.batchweave.store.FaultStore.Fault;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.RetryingStore;
import io.batchweave.store.StoreOperation;
import io.batchweave.store.Stores;
import java.util.concurrent.TimeUnit;

/**
 * A producer process: adds batches 1, 2, 3, … from where it was committed up to a last seq, and
 * prints {@code acked SEQ STEP} for each. Arguments: url, producer id, last seq, percent of faulty
 * requests, seed, and optionally the {@linkplain HaltingStore point} at which it halts. Properties:
 * {@code producer.pending}, batches that may be pending; {@code producer.stallSeconds}.
 */
final class ProducerMain {
  /** Exit code of a process that halted itself: that of a SIGKILL. */
  static final int HALTED = 137;

  /** Exit code of a fenced producer. */
  static final int FENCED = 3;

  private ProducerMain() {}

  public static void main(String[] args) {
    String producerId = args[1];
    long lastSeq = Long.parseLong(args[2]);
    double faulty = Integer.parseInt(args[3]) / 100.0;
    long seed = Long.parseLong(args[4]);
    ObjectStore real = Stores.open(args[0], System.getenv());
    ObjectStore halting = args.length > 5 ? new HaltingStore(real, args[5]) : real;
    FaultStore faults = new FaultStore(halting, seed);
    faults.randomly(StoreOperation.PUT_IF_ABSENT, Fault.ANSWER_LOST, faulty);
    faults.randomly(StoreOperation.PUT_IF_ABSENT, Fault.REQUEST_LOST, faulty);
    faults.randomly(StoreOperation.PUT_IF_ABSENT, Fault.LANDED_BUT_EXISTS, faulty);
    faults.randomly(StoreOperation.PUT, Fault.ANSWER_LOST, faulty);
    faults.randomly(StoreOperation.GET, Fault.THROTTLED_503, faulty);
    long stallNs = TimeUnit.SECONDS.toNanos(Long.getLong("producer.stallSeconds", 250));
    int code = 0;
    try (RetryingStore store = new RetryingStore(faults, seed);
        Producer producer =
            Producer.open(
                new ProducerContext()
                    .store(store)
                    .producerId(producerId)
                    .maxPendingBatches(Integer.getInteger("producer.pending", 24))
                    .openTimeoutNs(TimeUnit.SECONDS.toNanos(250))
                    .stallTimeoutNs(stallNs)
                    .closeTimeoutNs(stallNs)
                    .commitListener(
                        (seq, step) -> System.out.println("acked " + seq + " " + step)))) {
      long from = TestBatches.seqOf(producer.sourceState()) + 1;
      if (from != producer.nextSeq()) {
        System.out.println("WRONG STATE: " + from + " but nextSeq=" + producer.nextSeq());
      }
      System.out.println("opened " + producer.nextSeq());
      for (long seq = from; seq <= lastSeq; seq++) {
        producer.add(TestBatches.tgb(producerId, seq), TestBatches.stateAfter(seq));
      }
    } catch (BatchWeaveException e) {
      System.out.println("failed " + e.kind() + " " + e.getMessage());
      code = e.kind() == Kind.FENCED ? FENCED : 1;
    }
    System.exit(code);
  }
}
