package io.batchweave.bridge.handshake;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.SmallFileSystem;
import io.batchweave.bridge.memory.NativeMemory;
import java.nio.file.Path;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.AgentRunner;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.SystemEpochClock;
import org.agrona.concurrent.SystemNanoClock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The handshake where there is no room: errors, never a SIGBUS. */
@Timeout(180)
class HandshakeSpaceTest {
  private static final SystemNanoClock CLOCK = SystemNanoClock.INSTANCE;
  private static final long SOON_NS = 60_000_000_000L;

  private final Queue<Throwable> errors = new ConcurrentLinkedQueue<>();

  private HandshakeServer server(Path directory, RequestHandler handler) {
    return new HandshakeServer(
        NativeMemory.system(),
        directory.resolve(HandshakeProtocol.AERON_DIRECTORY),
        CLOCK,
        SystemEpochClock.INSTANCE,
        errors::add,
        handler);
  }

  @Test
  void shouldRefuseToStartWhenTheDriversFilesDoNotFit(@TempDir Path folder) throws Exception {
    try (SmallFileSystem small = SmallFileSystem.mount(folder, 8)) {
      BatchWeaveException thrown =
          assertThrows(BatchWeaveException.class, () -> server(small.path(), hello -> {}));
      assertEquals(Kind.CONFIG, thrown.kind());
      String message = String.valueOf(thrown.getMessage());
      assertTrue(message.contains("needed="), message);
      assertTrue(message.contains("available=8388608"), message);
    }
  }

  /** The logs of an attach are allocated before anybody maps them. */
  @Test
  void shouldRefuseAttachesWhileTheFileSystemIsFullAndGoOn(@TempDir Path folder) throws Exception {
    try (SmallFileSystem small = SmallFileSystem.mount(folder, 24)) {
      RefusingAgent agent = new RefusingAgent(small.path());
      try (AgentRunner runner =
          new AgentRunner(
              new BackoffIdleStrategy(1, 1, 50_000, 1_000_000), errors::add, null, agent)) {
        AgentRunner.startOnThread(runner);
        HandshakeClient client = new HandshakeClient(NativeMemory.system(), small.path(), CLOCK);
        small.fill();
        long untilNs = CLOCK.nanoTime() + SOON_NS;
        String message = "";
        while (!message.contains("insufficient usable storage")) {
          assertTrue(CLOCK.nanoTime() - untilNs < 0, message);
          BatchWeaveException thrown =
              assertThrows(
                  BatchWeaveException.class,
                  () -> client.ask(HandshakeCodecTest.hello(), CLOCK.nanoTime() + 1_000_000_000L));
          assertEquals(Kind.RETRYABLE, thrown.kind());
          message = String.valueOf(thrown.getMessage());
        }
        small.makeRoom();
        assertInstanceOf(
            Answer.Refused.class,
            client.ask(HandshakeCodecTest.hello(), CLOCK.nanoTime() + SOON_NS));
      }
    }
  }

  private final class RefusingAgent implements Agent {
    private final HandshakeServer server;

    RefusingAgent(Path directory) {
      server = server(directory, this::onRequest);
    }

    private void onRequest(Request hello) {
      server.answer(hello, new Answer.Refused(RefusalCode.CLOSING, "no more"));
    }

    @Override
    public int doWork() {
      return server.doWork();
    }

    @Override
    public void onClose() {
      server.close();
    }

    @Override
    public String roleName() {
      return "handshake-space-test";
    }
  }
}
