package io.batchweave.bridge.ring;

import java.lang.foreign.MemorySegment;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.JJ_Result;

/** {@code status}: what ranks quote is of one moment. */
@JCStressTest
@Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "the former one")
@Outcome(id = "5, 5", expect = Expect.ACCEPTABLE, desc = "the new one")
@Outcome(expect = Expect.FORBIDDEN, desc = "the edge does not hold")
@State
public class StatusStress {
  private final MemorySegment control = MemorySegment.ofArray(new long[336]);

  /** The daemon stores how the ring stands. */
  @Actor
  public void daemon() {
    ControlDescriptor.storeStatus(control, new RingStatus(5, 5, Id128.NONE, 5, 5, 5, 5, 5, ""));
  }

  /** A rank reads it. */
  @Actor
  public void rank(JJ_Result result) {
    RingStatus status = ControlDescriptor.loadStatus(control);
    result.r1 = status.blockedBytes();
    result.r2 = status.usedBytes();
  }
}
