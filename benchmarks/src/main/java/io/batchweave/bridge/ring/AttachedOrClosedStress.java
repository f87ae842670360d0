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
 * {@code taken-or-closed}, for attaching: either the rank sees CLOSED and keeps the files it had
 * before, or the daemon sees that it is attached.
 */
@JCStressTest
@Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "attached, and seen")
@Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "keeps its files, not seen")
@Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "keeps its files, though seen")
@Outcome(expect = Expect.FORBIDDEN, desc = "the edge does not hold")
@State
public class AttachedOrClosedStress {
  private static final Id128 ID = new Id128(3, 9);

  private final MemorySegment control = MemorySegment.ofArray(new long[64]);
  private final MemorySegment reader = MemorySegment.ofArray(new long[64]);

  /** A rank attaches itself; r1 says whether it has to keep its files. */
  @Actor
  public void rank(II_Result result) {
    ReaderDescriptor.attachRelease(reader, new Attachment(0, 1, ID, 0));
    VarHandle.fullFence();
    int state = ControlDescriptor.stateLoadAcquire(control);
    result.r1 = ControlDescriptor.stateOf(state) == ControlDescriptor.STATE_CLOSED ? 1 : 0;
  }

  /** The daemon closes the generation; r2 says whether it finds the rank attached. */
  @Actor
  public void daemon(II_Result result) {
    ControlDescriptor.stateStoreRelease(
        control, ControlDescriptor.closedWord(CloseReason.DAEMON_RESTART));
    VarHandle.fullFence();
    result.r2 = ReaderDescriptor.attachmentLoadAcquire(reader) == null ? 0 : 1;
  }
}
