package io.batchweave.bridge.daemon;

import java.util.concurrent.CountDownLatch;
import org.agrona.ErrorHandler;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.AgentTerminationException;

/** Says when an agent has ended, whatever ended it. */
final class EndingAgent implements Agent {
  private final Agent agent;
  private final CountDownLatch ended;
  private final ErrorHandler errors;

  EndingAgent(Agent agent, CountDownLatch ended, ErrorHandler errors) {
    this.agent = agent;
    this.ended = ended;
    this.errors = errors;
  }

  @Override
  public int doWork() throws Exception {
    try {
      return agent.doWork();
    } catch (InternalError late) {
      // The JVM may tell of a file that was cut short a moment after the read that met it. The next
      // cycle meets it again.
      errors.onError(late);
      return 0;
    } catch (Error e) {
      // The runner would end without closing, and ranks would wait for an agent that is no more.
      throw new AgentTerminationException(e);
    }
  }

  @Override
  public void onClose() {
    try {
      agent.onClose();
    } finally {
      ended.countDown();
    }
  }

  @Override
  public String roleName() {
    return agent.roleName();
  }
}
