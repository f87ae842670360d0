package io.batchweave.benchmarks;

import io.batchweave.Bytes;
import io.batchweave.bridge.handshake.AeronAttacher;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.rank.RankClient;
import io.batchweave.bridge.rank.RankContext;
import io.batchweave.bridge.rank.RankIdentity;
import io.batchweave.bridge.rank.StepLease;
import io.batchweave.bridge.ring.Coordinate;
import io.batchweave.format.Block.Takeover;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.SystemNanoClock;

/**
 * A rank in this process that takes steps and releases them at once.
 *
 * @param url the stream
 * @param directory of the daemon
 * @param dpSize ranks of the job
 * @param localRanks of them on this node
 */
record JavaRank(String url, Path directory, int dpSize, int localRanks) {
  private static final long TIMEOUT_NS = TimeUnit.MINUTES.toNanos(2);

  /**
   * Takes the first steps of the stream.
   *
   * @param dp which rank
   * @param steps how many
   * @return bytes of its slices
   */
  long take(int dp, int steps) {
    RankContext context =
        new RankContext()
            .directory(directory)
            .identity(
                new RankIdentity(
                    url, "train", "run", new Coordinate(dp, 0), dpSize, 1, localRanks, dp))
            .attacher(
                new AeronAttacher(
                    NativeMemory.system(),
                    directory,
                    SystemNanoClock.INSTANCE,
                    Bytes.EMPTY,
                    Takeover.SUPERSEDE));
    long bytes = 0;
    try (RankClient client = RankClient.open(context, TIMEOUT_NS)) {
      for (int step = 0; step < steps; step++) {
        StepLease lease = client.next(TIMEOUT_NS);
        if (lease == null) {
          throw new IllegalStateException("the stream ended early: dp=" + dp + " step=" + step);
        }
        for (int i = 0; i < lease.ownSliceCount(); i++) {
          bytes += lease.sliceLengthBytes(lease.ownSlice(i));
        }
        lease.release();
      }
    }
    return bytes;
  }
}
