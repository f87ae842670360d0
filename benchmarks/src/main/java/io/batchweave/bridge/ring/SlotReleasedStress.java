package io.batchweave.bridge.ring;

import java.lang.foreign.MemorySegment;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/**
 * {@code slot-released}: the daemon writes to a region only after the last read of whoever released
 * it.
 */
@JCStressTest
@Outcome(id = "1", expect = Expect.ACCEPTABLE, desc = "read what was there")
@Outcome(expect = Expect.FORBIDDEN, desc = "the edge does not hold")
@State
public class SlotReleasedStress {
  private final MemorySegment reader = MemorySegment.ofArray(new long[80]);
  private int bytes = 1;

  /** A rank reads its step and releases it. */
  @Actor
  public void rank(I_Result result) {
    result.r1 = bytes;
    ReaderDescriptor.ackStoreRelease(reader, 0, 4);
  }

  /** The daemon fetches another step to the same place once it may. */
  @Actor
  public void daemon() {
    if (ReaderDescriptor.isAckedLoadAcquire(reader, 0, 4)) {
      bytes = 2;
    }
  }
}
