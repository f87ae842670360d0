package io.batchweave.bridge.ring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.SmallFileSystem;
import io.batchweave.bridge.memory.FutexWaiter;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.NativeMemoryException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class ControlFileTest {
  private final NativeMemory memory = NativeMemory.system();

  private static GenerationHeader header() {
    return new GenerationHeader(
        new GenerationHeader.RingFile(0, 1 << 20, 1, 4096),
        1,
        new Id128(1, 2),
        0,
        256,
        1,
        new GenerationHeader.SessionHeader(new Id128(3, 4), "train", "run-0", 0, 1, 1, 1),
        List.of(new Coordinate(0, 0)));
  }

  /** The agent carries out the same command again in its next duty cycle. */
  @Test
  void shouldBeCreatedOnceThereIsRoomAgain(@TempDir Path folder) throws Exception {
    try (SmallFileSystem small = SmallFileSystem.mount(folder, 1);
        FutexWaiter waker = memory.newWaiter()) {
      Path path = small.path().resolve("ring-0.1.ctl");
      small.fill();
      NativeMemoryException thrown =
          assertThrows(
              NativeMemoryException.class,
              () -> ControlFile.create(memory, small.path(), header(), 0600, waker));
      assertEquals(Kind.LIMIT, thrown.kind());
      assertFalse(Files.exists(path), "left a part of it");
      small.makeRoom();
      try (ControlFile file = ControlFile.create(memory, small.path(), header(), 0600, waker)) {
        assertEquals(Files.size(path), file.lengthBytes());
      }
    }
  }
}
