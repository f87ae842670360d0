package io.batchweave.bridge.daemon;

import io.batchweave.Bytes;
import io.batchweave.bridge.handshake.AeronAttacher;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.rank.RankClient;
import io.batchweave.bridge.rank.RankContext;
import io.batchweave.bridge.rank.RankIdentity;
import io.batchweave.bridge.rank.StepLease;
import io.batchweave.bridge.ring.Coordinate;
import io.batchweave.format.Block;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.SystemNanoClock;

/** A rank of the soak in Java; the same in C is {@code soak_rank.c}. */
final class SoakRank {
  private SoakRank() {}

  /** Arguments: directory, stream, dp, ranks, first step, seconds to wait at most. */
  public static void main(String[] arguments) {
    Path directory = Path.of(arguments[0]);
    int dp = Integer.parseInt(arguments[2]);
    int ranks = Integer.parseInt(arguments[3]);
    long timeoutNs = TimeUnit.SECONDS.toNanos(Long.parseLong(arguments[5]));
    RankContext context =
        new RankContext()
            .directory(directory)
            .identity(
                new RankIdentity(
                    arguments[1], "train", "run-0", new Coordinate(dp, 0), ranks, 1, ranks, dp))
            .nextStep(Long.parseLong(arguments[4]))
            .attacher(
                new AeronAttacher(
                    NativeMemory.system(),
                    directory,
                    SystemNanoClock.INSTANCE,
                    Bytes.EMPTY,
                    Block.Takeover.SUPERSEDE));
    try (RankClient client = RankClient.open(context, timeoutNs)) {
      StepLease before = null;
      for (StepLease lease = client.next(timeoutNs);
          lease != null;
          lease = client.next(timeoutNs)) {
        if (before != null) {
          before.release();
        }
        System.out.println((SoakStream.isRight(lease, dp) ? "step " : "WRONG ") + lease.step());
        before = lease;
      }
      if (before != null) {
        before.release();
      }
      System.out.println("end");
    }
  }
}
