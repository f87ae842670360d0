package io.batchweave.simulate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.format.DataObject;
import io.batchweave.format.ManifestCodec;
import io.batchweave.log.Bits;
import io.batchweave.produce.ProducerMachine.Phase;
import io.batchweave.retain.CollectPolicy;
import io.batchweave.retain.CollectPolicy.Versions;
import io.batchweave.retain.CollectorMachine;
import io.batchweave.simulate.Fleet.Member;
import io.batchweave.simulate.ModelStore.Answer;
import io.batchweave.simulate.ModelStore.Effect;
import io.batchweave.simulate.ModelStore.Fate;
import io.batchweave.store.StoreRequest;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A writer that stands still between the head it read and its PUT, while the log is trimmed. */
@Timeout(240)
class StoppedWriterTest {
  private static final long DAYS_NS = 3 * 86_400 * Fleet.SECOND;

  /** A11: three days between the head and the PUT; meanwhile its number became a tombstone. */
  @Test
  void shouldNeitherCommitNorAcknowledgeWhenItsNumberWasTrimmedMeanwhile() {
    Fleet fleet = new Fleet(13, Latencies.TEN_MS);
    Member stopped = fleet.start("stopped", Fleet.SECOND, 0);
    fleet.run(5 * Fleet.SECOND);
    String[] sent = {""};
    fleet.trouble((request, random) -> {
      if (sent[0].isEmpty()
          && request instanceof StoreRequest.PutIfAbsent
          && request.key().startsWith("manifest/")) {
        sent[0] = request.key();
        fleet.store.after(0, stopped.client::pause);
        return new Fate(DAYS_NS, Fleet.MS, Effect.APPLIED, Answer.DELIVERED);
      }
      return null;
    });
    fleet.run(5 * Fleet.SECOND);
    assertFalse(sent[0].isEmpty(), "it stands still with a version on its way");
    long committedSeq = stopped.machine.committedSeq();
    Member busy = fleet.start("busy", 20 * Fleet.MS, 0);
    fleet.run(100 * Fleet.SECOND);
    busy.stopped = true;
    CollectorMachine collector =
        new CollectorMachine(CollectPolicy.DEFAULT.with(Versions.TRIM), new Bits(14));
    fleet.store.attach(collector);
    fleet.run(60 * Fleet.SECOND);
    assertEquals(CollectorMachine.Phase.DONE, collector.phase());
    assertTrue(isTombstone(fleet, sent[0]), "trimmed: " + sent[0]);
    fleet.run(DAYS_NS);
    stopped.client.resume();
    assertTrue(isTombstone(fleet, sent[0]), "its number is not free again");
    assertEquals(committedSeq, stopped.machine.committedSeq(), "not acknowledged");
    fleet.run(60 * Fleet.SECOND);
    assertEquals(Phase.LIVE, stopped.machine.phase());
    assertTrue(stopped.machine.committedSeq() > committedSeq + 10, "it reads on and works");
    long nextSeq = Objects.requireNonNull(fleet.state().producer("stopped")).nextSeq();
    List<DataObject> objects = fleet.objectsOf("stopped");
    assertEquals(nextSeq - 1, objects.size(), "each batch once");
    assertTrue(stopped.machine.committedSeq() <= nextSeq, "what it was told is in the log");
  }

  private static boolean isTombstone(Fleet fleet, String key) {
    return ManifestCodec.isTombstone(Objects.requireNonNull(fleet.store.objects().get(key), key));
  }
}
