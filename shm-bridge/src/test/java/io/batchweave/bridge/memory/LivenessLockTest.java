package io.batchweave.bridge.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.bridge.ChildJvm;
import io.batchweave.bridge.SharedDirectory;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The lock that lasts exactly as long as a mapping (U7, U12, U32 at the level of the lock). */
@Timeout(60)
class LivenessLockTest {
  private final NativeMemory memory = NativeMemory.system();
  private SharedDirectory directory;
  private Path path;
  private String before = "";

  @BeforeEach
  void setUp() throws IOException {
    before = NativeMemoryAccount.summary();
    directory = SharedDirectory.create();
    path = directory.path().resolve("lock");
  }

  @AfterEach
  void tearDown() throws IOException {
    directory.close();
    assertEquals(before, NativeMemoryAccount.summary());
  }

  /** Whoever looks at a process in /proc keeps its mappings for a moment longer than it lives. */
  private static void awaitFree(LockProbe probe) {
    long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (probe.isLocked()) {
      assertTrue(System.nanoTime() - deadlineNs < 0, "still locked");
      LockSupport.parkNanos(1_000_000);
    }
  }

  /** Holds the lock of a file until it is told to stop. */
  static final class Holder {
    private Holder() {}

    public static void main(String[] arguments) throws IOException {
      LockedMapping lock =
          LockedMapping.create(NativeMemory.system(), Path.of(arguments[0]), 4096, 0600);
      BufferedReader commands =
          new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      System.out.println("held");
      if ("f".equals(commands.readLine())) {
        System.out.println(new ProcessBuilder("sleep", "60").start().pid());
        commands.readLine();
      }
      lock.close();
    }
  }

  @Test
  void shouldHoldAsLongAsTheMappingLives() {
    LockedMapping lock = LockedMapping.create(memory, path, 8704, 0600);
    try (LockProbe probe = Objects.requireNonNull(LockProbe.open(memory, path))) {
      assertTrue(probe.isLocked());
      // Closing other descriptors of the file takes nothing away, as a record lock would.
      memory.open(path, FileAccess.READ_WRITE).close();
      assertTrue(probe.isLocked());
      assertNull(LockedMapping.open(memory, path, 8704, 0600), "taken a second time");
      lock.close();
      assertFalse(probe.isLocked());
    }
    LockedMapping again = LockedMapping.open(memory, path, 8704, 0600);
    assertNotNull(again);
    again.close();
  }

  @Test
  void shouldLetGoWhenTheProcessIsKilled() throws Exception {
    try (ChildJvm child = ChildJvm.start(Holder.class, path.toString())) {
      assertEquals("held", child.line());
      try (LockProbe probe = Objects.requireNonNull(LockProbe.open(memory, path))) {
        assertTrue(probe.isLocked());
        child.kill();
        awaitFree(probe);
      }
    }
  }

  @Test
  void shouldNotBeKeptByAChildOfTheHolder() throws Exception {
    try (ChildJvm holder = ChildJvm.start(Holder.class, path.toString())) {
      assertEquals("held", holder.line());
      holder.say("f");
      ProcessHandle grandchild =
          ProcessHandle.of(Long.parseLong(Objects.requireNonNull(holder.line()))).orElseThrow();
      try (LockProbe probe = Objects.requireNonNull(LockProbe.open(memory, path))) {
        assertTrue(probe.isLocked());
        holder.kill();
        awaitFree(probe);
        assertTrue(grandchild.isAlive());
      } finally {
        grandchild.destroyForcibly();
      }
    }
  }

  @Test
  void shouldRefuseSymbolicLinksAndExistingFiles() throws IOException {
    Path target = Files.createFile(directory.path().resolve("target"));
    Files.createSymbolicLink(path, target);
    assertThrows(NativeMemoryException.class, () -> memory.open(path, FileAccess.READ));
    NativeMemoryException exists =
        assertThrows(
            NativeMemoryException.class, () -> LockedMapping.create(memory, target, 4096, 0600));
    assertTrue(exists.isExisting());
    assertNull(LockProbe.open(memory, directory.path().resolve("absent")));
    assertNull(memory.identity(directory.path().resolve("absent")));
  }

  @Test
  void shouldSetModeAndLength() throws IOException {
    try (LockedMapping lock = LockedMapping.create(memory, path, 8704, 0640)) {
      assertEquals(8704, Files.size(path));
      assertEquals(0640, (int) Files.getAttribute(path, "unix:mode") & 0777);
      assertEquals(8704, lock.mapping().lengthBytes());
    }
  }
}
