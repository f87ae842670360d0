package io.batchweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.client.Streams.Unsound;
import io.batchweave.format.Grid;
import io.batchweave.format.StreamCapabilities;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.file.FileObjectStore;
import io.batchweave.store.probe.FlawedS3;
import io.batchweave.store.probe.FlawedS3.Flaw;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** No stream on a store that does not do conditional creates (F8). */
@Timeout(60)
class CheckedStreamTest {
  private static final Grid GRID = new Grid(2, 1);

  @TempDir private Path root;

  @Test
  void shouldMakeNoStreamWhenTheStoreIgnoresTheCondition() throws IOException {
    try (FlawedS3 service = new FlawedS3(Flaw.IGNORES_CONDITION);
        ObjectStore store = service.open()) {
      BatchWeaveException refused =
          assertThrows(
              BatchWeaveException.class, () -> Streams.createChecked(store, GRID, Unsound.REFUSE));
      assertEquals(Kind.CONFIG, refused.kind());
      assertTrue(refused.getMessage().contains("create race"), refused.getMessage());
      assertTrue(refused.getMessage().contains("--force"), refused.getMessage());
      assertEquals(Set.of(), service.keys());
    }
  }

  @Test
  void shouldRecordThatNothingIsPromisedWhenForced() throws IOException {
    try (FlawedS3 service = new FlawedS3(Flaw.IGNORES_CONDITION, Flaw.VERSIONED);
        ObjectStore store = service.open()) {
      StreamDescriptor made = Streams.createChecked(store, GRID, Unsound.RECORD);
      assertEquals(
          StreamCapabilities.UNSOUND_STORE
              | StreamCapabilities.VERSIONING
              | StreamCapabilities.LIFECYCLE,
          made.capabilities());
      assertEquals(made, Streams.describe(store));
      assertEquals(Set.of("root/stream"), service.keys());
    }
  }

  @Test
  void shouldRecordThatTheRaceWasPassedAndNotLookAgain() {
    try (ObjectStore store = FileObjectStore.open(root)) {
      StreamDescriptor made = Streams.createChecked(store, GRID, Unsound.REFUSE);
      assertEquals(StreamCapabilities.CREATE_RACE, made.capabilities());
      assertEquals(made, Streams.createChecked(store, GRID, Unsound.REFUSE));
      assertFalse(Files.exists(root.resolve("probe")), "not even a folder is left");
    }
  }
}
