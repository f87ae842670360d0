package io.batchweave.bridge.rank;

import io.batchweave.bridge.ring.Coordinate;
import io.batchweave.bridge.ring.Id128;
import io.batchweave.bridge.ring.RingHost;
import io.batchweave.format.Grid;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The main program of a rank in a process of its own. Says Hello by printing a line and is answered
 * by one; then reads steps, checks every byte and prints each step.
 */
final class ReadingRank {
  private ReadingRank() {}

  /** Says Hello by lines. */
  record LineAttacher(BufferedReader answers) implements Attacher {
    @Override
    public long register(RankIdentity identity, Registration registration, long deadlineNs) {
      throw new UnsupportedOperationException();
    }

    @Override
    public StreamStatus status(RankIdentity identity, long viewVersion, long deadlineNs) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Attached attach(Request request, long deadlineNs) {
      System.out.println(
          "hello " + request.reader() + " " + request.previous() + " " + request.nextStep());
      try {
        String[] words = Objects.requireNonNull(answers.readLine()).split(" ", -1);
        return new Attached(
            words[0],
            words[1],
            Id128.parse(words[2]),
            Long.parseLong(words[3]),
            Long.parseLong(words[4]),
            Id128.NONE,
            0,
            new Grid(4, 1));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public boolean isResponding() {
      return true;
    }

    @Override
    public void close() {}
  }

  static RankIdentity identity(int dp, int localReaders) {
    return new RankIdentity(
        "file:/stream", "job", "run-0", new Coordinate(dp, 0), 4, 1, localReaders, dp);
  }

  /** Whether every byte of the rank's slice is what it must be. */
  static boolean isRight(StepLease lease, int dp) {
    int index = lease.find(dp, 0);
    if (index < 0) {
      return false;
    }
    MemorySegment slice = lease.slice(index);
    for (long i = 0; i + 8 <= slice.byteSize(); i += 8) {
      if (slice.get(ValueLayout.JAVA_LONG, i) != RingHost.pattern(lease.step(), dp, i)) {
        return false;
      }
    }
    return slice.isReadOnly() && slice.byteSize() > 0;
  }

  public static void main(String[] arguments) {
    int dp = Integer.parseInt(arguments[1]);
    long stopAt = Long.parseLong(arguments[3]);
    BufferedReader answers =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    RankContext context =
        new RankContext()
            .directory(Path.of(arguments[0]))
            .identity(identity(dp, Integer.parseInt(arguments[2])))
            .nextStep(0)
            .attacher(new LineAttacher(answers));
    try (RankClient client = RankClient.open(context, 20_000_000_000L)) {
      @Nullable StepLease previous = null;
      while (true) {
        StepLease lease = client.next(20_000_000_000L);
        if (previous != null) {
          previous.release();
        }
        if (lease == null) {
          System.out.println("end " + client.nextStep());
          return;
        }
        System.out.println((isRight(lease, dp) ? "step " : "WRONG ") + lease.step());
        if (lease.step() == stopAt) {
          answers.readLine(); // holds the step until the process is killed
        }
        previous = lease;
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
