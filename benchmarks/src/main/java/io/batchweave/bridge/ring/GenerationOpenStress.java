package io.batchweave.bridge.ring;

import java.lang.foreign.MemorySegment;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.J_Result;

/** {@code generation-open}: whoever sees OPEN sees what the daemon wrote before. */
@JCStressTest
@Outcome(id = "-1", expect = Expect.ACCEPTABLE, desc = "not open yet")
@Outcome(id = "7", expect = Expect.ACCEPTABLE, desc = "open, with its first step where it lies")
@Outcome(expect = Expect.FORBIDDEN, desc = "the edge does not hold")
@State
public class GenerationOpenStress {
  private static final long DESCRIPTOR = 512;

  private final MemorySegment control = MemorySegment.ofArray(new long[80]);

  /** The daemon allocates the steps that keep their places, then opens. */
  @Actor
  public void daemon() {
    ControlDescriptor.allocate(control, DESCRIPTOR, 0, new StepRegion(7, 8, 0, 4096));
    ControlDescriptor.stateStoreRelease(control, ControlDescriptor.STATE_OPEN);
  }

  /** A rank looks for an open generation. */
  @Actor
  public void rank(J_Result result) {
    boolean isOpen = ControlDescriptor.stateLoadAcquire(control) == ControlDescriptor.STATE_OPEN;
    result.r1 = isOpen ? ControlDescriptor.stepLoadPlain(control, DESCRIPTOR) : -1;
  }
}
