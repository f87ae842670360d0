package io.batchweave.store.probe;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Payload;
import io.batchweave.store.PutOutcome;
import io.batchweave.store.StartingGate;
import io.batchweave.store.StoreException;
import io.batchweave.store.StoreFailure;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;

/**
 * Several connections create one key at the same instant, again and again. In a round of a sound
 * store exactly one is told CREATED, all others EXISTS, and the object is the winner's.
 *
 * <p>A round in which somebody's outcome is unclear and nobody was told CREATED proves nothing and
 * is run again.
 */
final class CreateRace {
  private static final long ARRIVAL_NS = TimeUnit.SECONDS.toNanos(2);
  private static final int BODY_BYTES = 1024;
  private static final int ENOUGH_BROKEN = 10;

  private final ObjectStore store;
  private final Scratch scratch;
  private final int connections;
  private final List<String> done = new ArrayList<>();
  private int together;
  private int sound;
  private int broken;
  private int unclear;
  private String firstFault = "";

  CreateRace(ObjectStore store, Scratch scratch, int connections) {
    this.store = store;
    this.scratch = scratch;
    this.connections = connections;
    this.together = connections;
  }

  /** Runs so many rounds that prove something, unless it goes wrong before. */
  ProbeCheck run(int rounds, IntConsumer progress) {
    for (int attempt = 0; sound + broken < rounds && attempt < 2 * rounds; attempt++) {
      round(attempt);
      progress.accept(sound + broken);
      if (broken >= ENOUGH_BROKEN) {
        break;
      }
    }
    return verdict();
  }

  private ProbeCheck verdict() {
    String name = "create race";
    int counted = sound + broken;
    if (broken > 0) {
      return ProbeCheck.fail(
          name,
          "broken in "
              + broken
              + " of "
              + counted
              + " rounds; the first: "
              + firstFault
              + ". Two writers can both believe they committed: no stream may live here");
    }
    if (sound == 0) {
      return ProbeCheck.fail(name, "no round of " + unclear + " had a clear outcome");
    }
    String text =
        sound
            + " rounds of "
            + connections
            + " creates ("
            + together
            + " released together), one winner each; "
            + ProbePlan.certainty(sound);
    return unclear == 0
        ? ProbeCheck.pass(name, text)
        : new ProbeCheck(
            name, ProbeCheck.Verdict.WARN, text + "; " + unclear + " rounds were unclear");
  }

  private void round(int number) {
    String key = scratch.key(String.format("race-%07d", number));
    StartingGate gate = new StartingGate();
    List<CompletableFuture<PutOutcome>> racers = new ArrayList<>();
    try {
      for (int racer = 0; racer < connections; racer++) {
        racers.add(store.putIfAbsent(key, gate.hold(Payload.of(body(number, racer)))));
      }
      // A store that runs fewer requests at once than there are racers shows it in its first round.
      together = Math.min(together, Math.max(2, gate.awaitArrivals(together, ARRIVAL_NS)));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new BatchWeaveException(Kind.RETRYABLE, "interrupted", e);
    } finally {
      gate.open();
    }
    judge(number, key, racers);
    done.add(key);
    if (done.size() >= 500) {
      scratch.delete(done);
      done.clear();
    }
  }

  private void judge(int number, String key, List<CompletableFuture<PutOutcome>> racers) {
    List<Integer> winners = new ArrayList<>();
    int open = 0;
    String refusal = "";
    for (int racer = 0; racer < racers.size(); racer++) {
      try {
        if (Scratch.await(racers.get(racer)) == PutOutcome.CREATED) {
          winners.add(racer);
        }
      } catch (StoreException e) {
        if (e.failure() == StoreFailure.ACCESS_DENIED) {
          throw e;
        }
        // A conflict may be answered to all but the winner; the rest says nothing of the effect.
        open += e.failure() == StoreFailure.CONFLICT ? 0 : 1;
        refusal = e.failure().retryable() ? refusal : e.getMessage();
      }
    }
    if (winners.size() > 1) {
      fault("key=" + key + " was created by " + winners.size() + " of " + racers.size());
    } else if (winners.isEmpty()) {
      if (open == 0) {
        fault("key=" + key + " was created by none of " + racers.size());
      } else if (refusal.isEmpty()) {
        unclear++;
      } else {
        fault(refusal);
      }
    } else {
      compare(number, key, winners.getFirst());
    }
  }

  private void compare(int number, String key, int winner) {
    try {
      Bytes found = Scratch.await(store.get(key, null, 2L * BODY_BYTES));
      if (found.equals(body(number, winner))) {
        sound++;
      } else {
        fault("key=" + key + " does not hold the bytes of the one that was told CREATED");
      }
    } catch (StoreException e) {
      if (e.failure().retryable()) {
        unclear++;
      } else {
        fault(e.getMessage());
      }
    }
  }

  private void fault(String what) {
    broken++;
    if (firstFault.isEmpty()) {
      firstFault = what;
    }
  }

  private static Bytes body(int round, int racer) {
    byte[] bytes = new byte[BODY_BYTES];
    Arrays.fill(bytes, (byte) racer);
    bytes[0] = (byte) round;
    bytes[1] = (byte) (round >> 8);
    return Bytes.wrap(bytes);
  }
}
