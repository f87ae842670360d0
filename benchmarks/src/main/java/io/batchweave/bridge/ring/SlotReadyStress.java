package io.batchweave.bridge.ring;

import java.lang.foreign.MemorySegment;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.JJ_Result;

/** {@code slot-ready}: whoever sees a step published sees its place and its bytes. */
@JCStressTest
@Outcome(id = "-1, -1", expect = Expect.ACCEPTABLE, desc = "not there yet")
@Outcome(id = "7, 42", expect = Expect.ACCEPTABLE, desc = "there, whole")
@Outcome(expect = Expect.FORBIDDEN, desc = "the edge does not hold")
@State
public class SlotReadyStress {
  private final MemorySegment descriptor = MemorySegment.ofArray(new long[16]);
  private long bytes;

  /** The daemon fetches, allocates and publishes step 7 as n = 0. */
  @Actor
  public void daemon() {
    ControlDescriptor.allocate(descriptor, 0, 0, new StepRegion(7, 8, 0, 4096));
    bytes = 42;
    ControlDescriptor.publishRelease(descriptor, 0, 0, ControlDescriptor.KIND_READY, 0);
  }

  /** A rank looks for it. */
  @Actor
  public void rank(JJ_Result result) {
    boolean ready = ControlDescriptor.seqLoadAcquire(descriptor, 0) == RingAbi.seqPublished(0);
    result.r1 = ready ? ControlDescriptor.stepLoadPlain(descriptor, 0) : -1;
    result.r2 = ready ? bytes : -1;
  }
}
