package io.batchweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.file.FileObjectStore;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ClientContextTest {
  @TempDir private Path directory;

  private static List<ClientContext<?>> contexts() {
    return List.of(
        new CollectorContext(),
        new OperatorContext(),
        new ProducerContext().producerId("p"),
        new ReaderContext());
  }

  private static void assertRefused(String setting, ClientContext<?> context) {
    BatchWeaveException refused = assertThrows(BatchWeaveException.class, context::conclude);
    assertEquals(Kind.CONFIG, refused.kind());
    String message = String.valueOf(refused.getMessage());
    assertEquals("bad " + setting, message.substring(0, message.indexOf(';')));
  }

  @Test
  void shouldNameTheSettingThatIsBad() {
    assertRefused("collector setting: store=null", new CollectorContext());
    assertRefused("operator setting: store=null", new OperatorContext());
    assertRefused("producer setting: store=null", new ProducerContext());
    assertRefused("reader setting: store=null", new ReaderContext());
    try (ObjectStore store = FileObjectStore.open(directory)) {
      ProducerContext producer = new ProducerContext().store(store);
      assertRefused("producer setting: producerId=null", producer);
      ReaderContext reader = new ReaderContext().store(store).windowSteps(0);
      assertRefused("reader setting: windowSteps=0", reader);
    }
  }

  @Test
  void shouldBelongToOneClient() {
    try (ObjectStore store = FileObjectStore.open(directory)) {
      for (ClientContext<?> context : contexts()) {
        assertSame(context, context.store(store).conclude());
        assertThrows(IllegalStateException.class, context::conclude);
      }
    }
  }
}
