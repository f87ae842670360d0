package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CountDownLatch;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.AgentTerminationException;
import org.junit.jupiter.api.Test;

/** What becomes of a daemon whose agent meets an Error. */
class EndingAgentTest {
  private final Queue<Error> thrown = new ArrayDeque<>();
  private final List<Throwable> told = new ArrayList<>();
  private final EndingAgent agent =
      new EndingAgent(new Throwing(), new CountDownLatch(1), told::add);

  /** A rank cuts its file short, and the JVM says so when the read is over. */
  @Test
  void shouldGoOnWhenAFileWasCutShort() throws Exception {
    InternalError late = new InternalError("a fault occurred in an unsafe memory access operation");
    thrown.add(late);
    assertEquals(0, agent.doWork());
    assertEquals(List.of(late), told);
    assertEquals(1, agent.doWork());
  }

  @Test
  void shouldEndForGoodOnAnyOtherError() {
    OutOfMemoryError full = new OutOfMemoryError();
    thrown.add(full);
    AgentTerminationException ends = assertThrows(AgentTerminationException.class, agent::doWork);
    assertEquals(full, ends.getCause());
  }

  private final class Throwing implements Agent {
    @Override
    public int doWork() {
      Error next = thrown.poll();
      if (next != null) {
        throw next;
      }
      return 1;
    }

    @Override
    public String roleName() {
      return "throwing";
    }
  }
}
