package io.batchweave.bridge.handshake;

import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.AgentInvoker;
import org.agrona.concurrent.ringbuffer.ManyToOneRingBuffer;

/**
 * Frees the driver's command ring from claims that dead clients abandoned. The driver's own check
 * takes one liveness timeout per claim, one after the other; this one waits once and then passes
 * all claims that were already made when the head got stuck.
 */
final class CommandRingWatch {
  static final long STUCK_NS = TimeUnit.MILLISECONDS.toNanos(700);

  private final ManyToOneRingBuffer ring;
  private final AgentInvoker driver;
  private long seenHead;
  private long stuckHead = -1;
  private long notedTail;
  private long stuckSinceNs;

  CommandRingWatch(ManyToOneRingBuffer ring, AgentInvoker driver) {
    this.ring = ring;
    this.driver = driver;
  }

  /** Whether the driver took commands since this was last asked. */
  boolean hasMoved() {
    long head = ring.consumerPosition();
    boolean moved = head != seenHead;
    seenHead = head;
    return moved;
  }

  /** Whether the driver has taken all commands. */
  boolean isEmpty() {
    return ring.consumerPosition() == ring.producerPosition();
  }

  /** Looks once; returns the number of claims passed. */
  int check(long nowNs) {
    long head = ring.consumerPosition();
    if (head == ring.producerPosition()) {
      stuckHead = -1;
      return 0;
    }
    if (head != stuckHead) {
      stuckHead = head;
      notedTail = ring.producerPosition();
      stuckSinceNs = nowNs;
      return 0;
    }
    if (nowNs - stuckSinceNs < STUCK_NS) {
      return 0;
    }
    int passed = 0;
    while (ring.consumerPosition() < notedTail) {
      long before = ring.consumerPosition();
      if (ring.unblock()) {
        passed++;
      }
      driver.invoke();
      if (ring.consumerPosition() == before) {
        // Nothing follows the claim yet: the next command makes it passable.
        break;
      }
    }
    return passed;
  }
}
