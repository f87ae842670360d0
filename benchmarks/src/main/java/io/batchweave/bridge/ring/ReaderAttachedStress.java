package io.batchweave.bridge.ring;

import java.lang.foreign.MemorySegment;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.JJ_Result;

/** {@code reader-attached}: whoever sees a reader attached sees to which generation. */
@JCStressTest
@Outcome(id = "-1, -1", expect = Expect.ACCEPTABLE, desc = "not attached yet")
@Outcome(id = "9, 5", expect = Expect.ACCEPTABLE, desc = "attached, whole")
@Outcome(expect = Expect.FORBIDDEN, desc = "the edge does not hold")
@State
public class ReaderAttachedStress {
  private static final Id128 ID = new Id128(3, 9);

  private final MemorySegment reader = MemorySegment.ofArray(new long[64]);

  /** A rank attaches itself at n = 5. */
  @Actor
  public void rank() {
    ReaderDescriptor.attachRelease(reader, new Attachment(0, 1, ID, 5));
  }

  /** The daemon looks. */
  @Actor
  public void daemon(JJ_Result result) {
    Attachment attachment = ReaderDescriptor.attachmentLoadAcquire(reader);
    result.r1 = attachment == null ? -1 : attachment.generationId().low();
    result.r2 = attachment == null ? -1 : ReaderDescriptor.takenLoadAcquire(reader);
  }
}
