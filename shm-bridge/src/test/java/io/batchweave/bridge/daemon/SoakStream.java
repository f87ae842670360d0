package io.batchweave.bridge.daemon;

import io.batchweave.Bytes;
import io.batchweave.bridge.rank.StepLease;
import io.batchweave.client.Producer;
import io.batchweave.client.ProducerContext;
import io.batchweave.format.Grid;
import io.batchweave.produce.Tgb;
import io.batchweave.produce.TgbBuilder;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The stream of a soak, which shows in every word which step and slice it belongs to: word i of
 * slice (step, dp) is {@code step << 32 | dp << 24 | i}, little-endian.
 */
final class SoakStream {
  static final String PRODUCER = "soak";
  private static final ValueLayout.OfLong WORD =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private SoakStream() {}

  private static long word(long step, int dp) {
    return step << 32 | (long) dp << 24;
  }

  /** One to five pages, a little less or more. */
  private static int words(long step, int dp) {
    return 512 * (1 + (int) (step % 5)) + (int) ((step + dp) % 7) - 3;
  }

  private static Tgb batch(long step, int ranks) {
    TgbBuilder builder = new TgbBuilder(new Grid(ranks, 1));
    for (int dp = 0; dp < ranks; dp++) {
      ByteBuffer slice =
          ByteBuffer.allocate(words(step, dp) * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
      for (long i = 0; slice.hasRemaining(); i++) {
        slice.putLong(word(step, dp) | i);
      }
      builder.slice(dp, 0, Bytes.wrap(slice.array()), 1, 1, 1);
    }
    return builder.build();
  }

  /** Whether every word of a rank's slice is right. */
  static boolean isRight(StepLease lease, int dp) {
    MemorySegment slice = lease.slice(lease.find(dp, 0));
    long count = slice.byteSize() / Long.BYTES;
    boolean right = slice.byteSize() == (long) words(lease.step(), dp) * Long.BYTES;
    for (long i = 0; i < count; i++) {
      right &= slice.get(WORD, i * Long.BYTES) == (word(lease.step(), dp) | i);
    }
    return right;
  }

  /** How many steps a source state stands for. */
  static long steps(Bytes sourceState) {
    return sourceState.length() == 0 ? 0 : ByteBuffer.wrap(sourceState.toByteArray()).getLong();
  }

  /**
   * The producer, in a process of its own: goes on where the one before was killed, with the step
   * that is the next one of the stream. Arguments: stream, ranks, milliseconds between steps.
   */
  public static void main(String[] arguments) {
    int ranks = Integer.parseInt(arguments[1]);
    long pauseNs = TimeUnit.MILLISECONDS.toNanos(Long.parseLong(arguments[2]));
    try (ObjectStore store = Stores.open(arguments[0], Map.of());
        Producer producer =
            Producer.open(new ProducerContext().store(store).producerId(PRODUCER))) {
      System.out.println("producing");
      for (long step = steps(producer.sourceState()); true; step++) {
        byte[] state = ByteBuffer.allocate(Long.BYTES).putLong(step + 1).array();
        producer.add(batch(step, ranks), Bytes.wrap(state));
        LockSupport.parkNanos(pauseNs);
      }
    }
  }
}
