package io.batchweave.store;

import static io.batchweave.store.Outcomes.await;
import static io.batchweave.store.Outcomes.failure;
import static io.batchweave.store.Outcomes.payload;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.batchweave.store.FaultStore.Fault;
import io.batchweave.store.file.FileObjectStore;
import io.batchweave.store.file.FileObjectStore.Durability;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
final class MeteredStoreTest {
  @TempDir Path directory;

  @Test
  void shouldCountRequestsBytesAndFailuresByOperation() throws Exception {
    AtomicLong now = new AtomicLong();
    FaultStore faults =
        new FaultStore(
            FileObjectStore.open(directory.resolve("root"), Durability.PAGE_CACHE, 2), 1);
    try (MeteredStore store = new MeteredStore(faults, () -> now.getAndAdd(10))) {
      await(store.putIfAbsent("a", payload(1, 100)));
      await(store.putIfAbsent("a", payload(1, 100)));
      await(store.put("b", payload(1, 50)));
      await(store.get("a", new ByteRange(10, 20), 20));
      failure(store.get("none", null, 1));
      Path file = Files.write(directory.resolve("target"), new byte[100]);
      await(store.getInto("a", new ByteRange(0, 70), file, 0));
      await(store.list("", 10));
      await(store.delete(List.of("a", "b", "c")));
      faults.script(StoreOperation.HEAD, "a", Fault.HANG);
      CompletableFuture<?> hung = store.head("a");
      StoreMeter meter = store.snapshot();
      assertEquals(
          new StoreMeter.Operation(2, 0, 0, 100, 2, 20), meter.of(StoreOperation.PUT_IF_ABSENT));
      assertEquals(new StoreMeter.Operation(1, 0, 0, 50, 1, 10), meter.of(StoreOperation.PUT));
      assertEquals(new StoreMeter.Operation(2, 1, 0, 20, 1, 20), meter.of(StoreOperation.GET));
      assertEquals(new StoreMeter.Operation(1, 0, 0, 70, 1, 10), meter.of(StoreOperation.GET_INTO));
      assertEquals(2, meter.of(StoreOperation.LIST).items());
      assertEquals(3, meter.of(StoreOperation.DELETE).items());
      assertEquals(1, meter.of(StoreOperation.HEAD).inFlight());
      assertEquals(90, meter.bytesRead());
      assertEquals(150, meter.bytesWritten());
      assertEquals(1, meter.failures().get(StoreFailure.NOT_FOUND));
      assertEquals(9, meter.requests());
      faults.releaseHung();
      assertEquals(StoreFailure.NOT_FOUND, failure(hung).failure());
      assertEquals(0, store.snapshot().of(StoreOperation.HEAD).inFlight());
    }
  }
}
