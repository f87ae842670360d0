package io.batchweave.bridge.ring;

import java.lang.foreign.MemorySegment;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * {@code doorbell}: a daemon that loads the word as a rank left it finds what the rank released.
 */
@JCStressTest
@Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "before it: the sleep is refused or woken")
@Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "released, not rung yet")
@Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "after it")
@Outcome(expect = Expect.FORBIDDEN, desc = "the edge does not hold")
@State
public class DoorbellStress {
  private final MemorySegment doorbell = MemorySegment.ofArray(new long[32]);
  private final MemorySegment reader = MemorySegment.ofArray(new long[80]);

  /** A rank releases n = 0 and rings. */
  @Actor
  public void rank() {
    ReaderDescriptor.ackStoreRelease(reader, 0, 4);
    DoorbellDescriptor.ringRelease(doorbell);
  }

  /** The daemon loads the word, then looks, before it would sleep on that word. */
  @Actor
  public void daemon(II_Result result) {
    result.r1 = DoorbellDescriptor.wordLoadAcquire(doorbell);
    result.r2 = ReaderDescriptor.isAckedLoadAcquire(reader, 0, 4) ? 1 : 0;
  }
}
