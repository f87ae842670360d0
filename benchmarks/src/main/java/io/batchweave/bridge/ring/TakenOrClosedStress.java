package io.batchweave.bridge.ring;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * {@code taken-or-closed}: either the rank sees CLOSED and backs out, or the daemon sees what it
 * took.
 */
@JCStressTest
@Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "taken, and seen")
@Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "backs out, not seen")
@Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "backs out, seen for a moment")
@Outcome(expect = Expect.FORBIDDEN, desc = "the edge does not hold")
@State
public class TakenOrClosedStress {
  private final MemorySegment control = MemorySegment.ofArray(new long[64]);
  private final MemorySegment reader = MemorySegment.ofArray(new long[64]);

  /** A rank takes n = 0; r1 says whether it has to back out. */
  @Actor
  public void rank(II_Result result) {
    ReaderDescriptor.takenStoreRelease(reader, 1);
    VarHandle.fullFence();
    int state = ControlDescriptor.stateLoadAcquire(control);
    result.r1 = ControlDescriptor.stateOf(state) == ControlDescriptor.STATE_CLOSED ? 1 : 0;
  }

  /** The daemon closes the generation; r2 is what it finds taken. */
  @Actor
  public void daemon(II_Result result) {
    ControlDescriptor.stateStoreRelease(
        control, ControlDescriptor.closedWord(CloseReason.COORDINATE));
    VarHandle.fullFence();
    result.r2 = (int) ReaderDescriptor.takenLoadAcquire(reader);
  }
}
