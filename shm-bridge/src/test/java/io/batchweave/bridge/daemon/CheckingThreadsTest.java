package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class CheckingThreadsTest {
  private static final int NICEST = 19;

  /** Of the calling thread: the 19th field, the 17th behind the name in parentheses. */
  private static int niceness() {
    try {
      String status = Files.readString(Path.of("/proc/thread-self/stat"));
      return Integer.parseInt(status.substring(status.lastIndexOf(')') + 2).split(" ", -1)[16]);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void shouldGiveWayToAllOtherThreadsAndOnlyThese() throws Exception {
    int before = niceness();
    try (CheckingThreads threads = new CheckingThreads()) {
      CompletableFuture<Integer> theirs = new CompletableFuture<>();
      assertTrue(threads.execute(() -> theirs.complete(niceness())));
      assertEquals(Math.min(NICEST, before + 10), theirs.get(50, TimeUnit.SECONDS));
    }
    assertEquals(before, niceness());
  }
}
