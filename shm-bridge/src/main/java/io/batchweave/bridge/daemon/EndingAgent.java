package io.batchweave.bridge.daemon;

import java.util.concurrent.CountDownLatch;
import org.agrona.concurrent.Agent;

/** Says when an agent has ended, whatever ended it. */
final class EndingAgent implements Agent {
  private final Agent agent;
  private final CountDownLatch ended;

  EndingAgent(Agent agent, CountDownLatch ended) {
    this.agent = agent;
    this.ended = ended;
  }

  @Override
  public int doWork() throws Exception {
    return agent.doWork();
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
