package io.batchweave.bridge.ring;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.JJ_Result;

/**
 * {@code slot-ready} under reuse: a descriptor whose fields are being rewritten is never taken for
 * the one before or after.
 */
@JCStressTest
@Outcome(id = "-1, -1", expect = Expect.ACCEPTABLE, desc = "none of the two")
@Outcome(id = "0, 7", expect = Expect.ACCEPTABLE, desc = "the former one")
@Outcome(id = "4, 11", expect = Expect.ACCEPTABLE, desc = "the new one")
@Outcome(expect = Expect.FORBIDDEN, desc = "the edge does not hold")
@State
public class SlotReusedStress {
  private final MemorySegment descriptor = MemorySegment.ofArray(new long[16]);

  /** Step 7 is published as n = 0 of four slots. */
  public SlotReusedStress() {
    ControlDescriptor.allocate(descriptor, 0, 0, new StepRegion(7, 8, 0, 4096));
    ControlDescriptor.publishRelease(descriptor, 0, 0, ControlDescriptor.KIND_READY, 0);
  }

  /** The daemon uses the slot again, for n = 4. */
  @Actor
  public void daemon() {
    ControlDescriptor.allocate(descriptor, 0, 4, new StepRegion(11, 12, 8192, 4096));
    ControlDescriptor.publishRelease(descriptor, 0, 4, ControlDescriptor.KIND_READY, 0);
  }

  /** The next daemon, or a rank, reads n and step and looks again whether they belong together. */
  @Actor
  public void reader(JJ_Result result) {
    long before = ControlDescriptor.seqLoadAcquire(descriptor, 0);
    long step = ControlDescriptor.stepLoadPlain(descriptor, 0);
    VarHandle.loadLoadFence();
    long after = ControlDescriptor.seqLoadAcquire(descriptor, 0);
    boolean whole = before == after && before > ControlDescriptor.SEQ_VOID && (before & 1) == 0;
    result.r1 = whole ? (before - 2) / 2 : -1;
    result.r2 = whole ? step : -1;
  }
}
