package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.client.Operator;
import io.batchweave.client.OperatorContext;
import io.batchweave.format.DataObject;
import io.batchweave.format.Grid;
import io.batchweave.format.ObjectNames;
import io.batchweave.store.ListedObject;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.agrona.concurrent.SystemNanoClock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Several daemons that collect one stream. */
@Timeout(180)
class StreamCollectorsTest {
  private static final long INTERVAL_NS = TimeUnit.MILLISECONDS.toNanos(200);
  private static final long TIMEOUT_NS = TimeUnit.SECONDS.toNanos(120);

  @TempDir private Path directory;

  @Test
  void shouldDeleteWhatIsBelowWhenSeveralCollectAtOnce() {
    String url = directory.resolve("stream") + "?sync=none";
    List<String> lines = new CopyOnWriteArrayList<>();
    try (TestStream stream = new TestStream(url, new Grid(2, 1), 64);
        ObjectStore store = Stores.openRetrying(url, Map.of());
        Operator operator = Operator.open(new OperatorContext().store(store))) {
      for (int i = 0; i < 6; i++) {
        stream.add(2);
      }
      // One producer numbers its batches as the stream its steps; some may share an object.
      Set<DataObject> kept = data(store);
      long seqOfStep0 = kept.stream().mapToLong(DataObject::firstSeq).min().orElseThrow();
      assertTrue(kept.removeIf(object -> object.lastSeq() < seqOfStep0 + 8));
      try (StreamCollectors _ = start(url, lines);
          StreamCollectors _ = start(url, lines);
          StreamCollectors _ = start(url, lines)) {
        operator.operatorPin("g", "c", 8);
        long deadlineNs = SystemNanoClock.INSTANCE.nanoTime() + TIMEOUT_NS;
        // What is gone is said a moment later, and not any more by one that was closed meanwhile.
        while ((data(store).size() > kept.size()
                || lines.stream().noneMatch(line -> line.contains("horizon=8")))
            && SystemNanoClock.INSTANCE.nanoTime() - deadlineNs < 0) {
          LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
        }
      }
      assertEquals(kept, data(store), lines::toString);
      assertEquals(8, operator.state().horizon());
      assertTrue(lines.stream().anyMatch(line -> line.contains("horizon=8")), lines::toString);
      assertTrue(lines.stream().noneMatch(line -> line.contains("stopped")), lines::toString);
    }
  }

  private static Set<DataObject> data(ObjectStore store) {
    Set<DataObject> data = new HashSet<>();
    for (ListedObject object : store.list(ObjectNames.DATA, 100).join().objects()) {
      data.add(Objects.requireNonNull(ObjectNames.parseData(object.key()), object.key()));
    }
    return data;
  }

  private static StreamCollectors start(String url, List<String> lines) {
    return StreamCollectors.start(List.of(url), Map.of(), INTERVAL_NS, lines::add);
  }

  @Test
  void shouldRefuseARootThatIsNoStream() {
    String url = directory.resolve("nothing").toString();
    assertThrows(BatchWeaveException.class, () -> start(url, new ArrayList<>()));
  }
}
