package io.batchweave.bridge.ring;

import java.lang.foreign.MemorySegment;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * {@code wake}: whoever loads the word that the daemon has incremented finds the step published, so
 * nobody sleeps on the new value while the step is there.
 */
@JCStressTest
@Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "before it: the wait is refused or woken")
@Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "published, the word not yet changed")
@Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "after it")
@Outcome(expect = Expect.FORBIDDEN, desc = "the edge does not hold")
@State
public class WakeStress {
  private static final long DESCRIPTOR = 512;

  private final MemorySegment control = MemorySegment.ofArray(new long[80]);

  /** The daemon publishes and changes the word. */
  @Actor
  public void daemon() {
    ControlDescriptor.publishRelease(control, DESCRIPTOR, 0, ControlDescriptor.KIND_READY, 0);
    ControlDescriptor.wakeIncrementRelease(control);
  }

  /** A rank loads the word, then looks for the step, before it would sleep on that word. */
  @Actor
  public void rank(II_Result result) {
    result.r1 = ControlDescriptor.wakeLoadAcquire(control);
    long seq = ControlDescriptor.seqLoadAcquire(control, DESCRIPTOR);
    result.r2 = seq == RingAbi.seqPublished(0) ? 1 : 0;
  }
}
