package io.batchweave.bridge.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.bridge.ChildJvm;
import io.batchweave.bridge.SharedDirectory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Futex words between threads and between processes. */
@Timeout(60)
class FutexTest {
  private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();
  private static final int ROUNDS = 2_000;

  private static int load(MemorySegment segment, long offset) {
    return (int) INT.getAcquire(segment, offset);
  }

  private static void increment(MemorySegment segment, long offset, FutexWaiter waiter) {
    INT.setRelease(segment, offset, load(segment, offset) + 1);
    waiter.wakeAll(segment, offset);
  }

  private static void awaitValue(
      MemorySegment segment, long offset, int value, FutexWaiter waiter) {
    int word = load(segment, offset);
    while (word < value) {
      waiter.await(segment, offset, word, 10_000_000_000L);
      word = load(segment, offset);
    }
  }

  /** Answers each increment of word 0 by one of word 128. */
  static final class Echo {
    private Echo() {}

    public static void main(String[] arguments) {
      NativeMemory memory = NativeMemory.system();
      try (SharedFile file = memory.open(Path.of(arguments[0]), FileAccess.READ_WRITE);
          Mapping mapping = file.map(4096, Protection.READ_WRITE);
          FutexWaiter waiter = memory.newWaiter()) {
        System.out.println("ready");
        for (int round = 1; round <= ROUNDS; round++) {
          awaitValue(mapping.segment(), 0, round, waiter);
          increment(mapping.segment(), 128, waiter);
        }
      }
    }
  }

  @Test
  void shouldWakeAnotherProcessEveryTime() throws Exception {
    NativeMemory memory = NativeMemory.system();
    String before = NativeMemoryAccount.summary();
    try (SharedDirectory directory = SharedDirectory.create()) {
      Path path = directory.path().resolve("words");
      try (SharedFile file = memory.open(path, FileAccess.CREATE)) {
        file.allocate(0, 4096);
        try (Mapping mapping = file.map(4096, Protection.READ_WRITE);
            FutexWaiter waiter = memory.newWaiter();
            ChildJvm child = ChildJvm.start(Echo.class, path.toString())) {
          assertEquals("ready", child.line());
          for (int round = 1; round <= ROUNDS; round++) {
            increment(mapping.segment(), 0, waiter);
            awaitValue(mapping.segment(), 128, round, waiter);
          }
          assertEquals(0, child.exitCode());
        }
      }
    }
    assertEquals(before, NativeMemoryAccount.summary());
  }

  @Test
  void shouldReturnWhenTheTimeIsOverOrTheValueIsAnother() throws Exception {
    NativeMemory memory = NativeMemory.system();
    try (SharedDirectory directory = SharedDirectory.create();
        SharedFile file = memory.open(directory.path().resolve("words"), FileAccess.CREATE)) {
      file.allocate(0, 4096);
      try (Mapping mapping = file.map(4096, Protection.READ_WRITE);
          FutexWaiter waiter = memory.newWaiter()) {
        MemorySegment segment = mapping.segment();
        waiter.await(segment, 0, 7, 60_000_000_000L); // the value is 0: returns at once
        long start = System.nanoTime();
        waiter.await(segment, 0, 0, 20_000_000L);
        assertTrue(System.nanoTime() - start >= 15_000_000L, "did not wait");
        waiter.await(segment, 0, 0, 0);
        assertThrows(IndexOutOfBoundsException.class, () -> waiter.await(segment, 4094, 0, 1));
        assertThrows(IndexOutOfBoundsException.class, () -> waiter.wakeAll(segment, 4096));
      }
    }
  }

  @Test
  void shouldRefuseVirtualThreads() throws Exception {
    NativeMemory memory = NativeMemory.system();
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    try (SharedDirectory directory = SharedDirectory.create();
        SharedFile file = memory.open(directory.path().resolve("words"), FileAccess.CREATE)) {
      file.allocate(0, 4096);
      try (Mapping mapping = file.map(4096, Protection.READ_WRITE);
          FutexWaiter waiter = memory.newWaiter()) {
        Thread.ofVirtual()
            .start(() -> {
              try {
                waiter.await(mapping.segment(), 0, 0, 1_000);
              } catch (Throwable e) {
                thrown.set(e);
              }
            })
            .join();
      }
    }
    assertTrue(thrown.get() instanceof IllegalStateException, () -> "thrown: " + thrown.get());
  }
}
