package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.format.Grid;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How many requests a daemon has in flight, and whose they are. */
@Timeout(120)
class FetchTurnsTest extends DaemonFixture {
  private static final int FETCHES = 2;
  private static final int STEPS = 60;

  /** A range request that the store has not answered yet. */
  private record Held(String ring, CompletableFuture<Void> gate) {}

  private final BlockingQueue<Held> held = new LinkedBlockingQueue<>();
  private final AtomicInteger inFlight = new AtomicInteger();
  private final AtomicInteger most = new AtomicInteger();
  private volatile boolean open;
  private ObjectStore inner;

  @BeforeEach
  void openStore() {
    inner = Stores.open(url(), Map.of());
  }

  @AfterEach
  void closeStore() {
    inner.close();
  }

  /** Answers a range request when the test says so, and all others at once. */
  private ObjectStore slow() {
    return (ObjectStore)
        Proxy.newProxyInstance(
            ObjectStore.class.getClassLoader(),
            new Class<?>[] {ObjectStore.class},
            (self, method, arguments) -> {
              if (!method.getName().equals("getInto")) {
                return invoke(method, arguments);
              }
              most.accumulateAndGet(inFlight.incrementAndGet(), Math::max);
              CompletableFuture<Void> gate = new CompletableFuture<>();
              CompletableFuture<?> answer =
                  gate.thenCompose(now -> (CompletableFuture<?>) invoke(method, arguments))
                      .whenComplete((written, failed) -> inFlight.decrementAndGet());
              held.add(new Held(String.valueOf(((Path) arguments[2]).getFileName()), gate));
              if (open) {
                gate.complete(null);
              }
              return answer;
            });
  }

  private Object invoke(Method method, Object[] arguments) {
    try {
      return method.invoke(inner, arguments);
    } catch (InvocationTargetException e) {
      throw new IllegalStateException(e.getCause());
    } catch (IllegalAccessException e) {
      throw new AssertionError(e);
    }
  }

  /** Answers the oldest request and says whose it was. */
  private String answerOne() throws InterruptedException {
    Held oldest = held.poll(60, TimeUnit.SECONDS);
    assertNotNull(oldest, "no request in flight");
    oldest.gate().complete(null);
    return oldest.ring();
  }

  private void answerAll() {
    open = true;
    held.forEach(each -> each.gate().complete(null));
  }

  private static boolean wants(Daemon daemon, int ring, int steps) {
    String name = "batchweave_ring_unfinished_fetches{ring=\"" + ring + "\"";
    return daemon
        .metrics()
        .lines()
        .anyMatch(line -> line.startsWith(name) && line.endsWith(" " + steps));
  }

  private TestRank attach(String group) {
    return new TestRank(new TestRank.Identity(directory, url(), group, "run-0", alone()), 0)
        .attach(SOON_NS);
  }

  /** What one ring wants of a slow store is not served before all that another wants. */
  @Test
  void shouldServeARingBesideOneThatWantsMuchMoreWithNoMoreRequestsThanToldTo() throws Exception {
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES);
        Daemon daemon =
            Daemon.launch(
                context().rings(2).concurrentFetches(FETCHES).storeSupplier(url -> slow()))) {
      stream.add(STEPS);
      try (TestRank greedy = attach("greedy")) {
        await("all of it is wanted", () -> wants(daemon, 0, STEPS));
        try (TestRank late = attach("late")) {
          await("and once more", () -> wants(daemon, 1, STEPS));
          int before = 0;
          while (answerOne().equals("ring-0.data")) {
            before++;
          }
          assertTrue(before <= 3 * FETCHES, "served before the other: " + before);
          int others = 0;
          for (int i = 0; i < 24; i++) {
            others += answerOne().equals("ring-1.data") ? 1 : 0;
          }
          assertTrue(others >= 8 && others <= 16, "of 24: " + others);
          answerAll();
          for (TestRank rank : new TestRank[] {greedy, late}) {
            for (long step = 0; step < STEPS; step++) {
              TestRank.Take.Ready ready = rank.step(SOON_NS);
              assertEquals(step, ready.step());
              assertArrayEquals(stream.slice(step, 0, 0), rank.slice(ready, 0, 0));
              rank.release(ready);
            }
          }
        }
      } finally {
        answerAll();
      }
      assertEquals(FETCHES, most.get(), "requests in flight");
    }
  }

  /** A rank that dies takes with it what its ring has not begun to fetch. */
  @Test
  void shouldForgetWhatIsNotBegunWhenTheRankIsGone() {
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES);
        Daemon daemon =
            Daemon.launch(context().concurrentFetches(FETCHES).storeSupplier(url -> slow()))) {
      stream.add(STEPS);
      try (TestRank rank = attach("gone")) {
        await("all of it is wanted", () -> wants(daemon, 0, STEPS));
        assertEquals(0, rank.nextStep());
      }
      await("all of it is forgotten", () -> wants(daemon, 0, 0));
      assertEquals(FETCHES, held.size(), "requests sent");
      answerAll();
      try (TestRank next = attach("next")) {
        assertArrayEquals(stream.slice(0, 0, 0), next.slice(next.step(SOON_NS), 0, 0));
      }
    }
  }
}
