package io.batchweave.bridge.ring;

import io.batchweave.BatchWeaveException;
import java.lang.foreign.MemorySegment;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.JJ_Result;

/** {@code reader-born}: whoever sees a reader file's magic sees whose it is. */
@JCStressTest
@Outcome(id = "-1, -1", expect = Expect.ACCEPTABLE, desc = "not born yet")
@Outcome(id = "9, 3", expect = Expect.ACCEPTABLE, desc = "born, whole")
@Outcome(expect = Expect.FORBIDDEN, desc = "the edge does not hold")
@State
public class ReaderBornStress {
  private static final ReaderHeader HEADER =
      new ReaderHeader(new Id128(7, 9), Id128.NONE, 4711, 3, new Coordinate(1, 0), 4, 2, 8);

  private final MemorySegment reader =
      MemorySegment.ofArray(new long[(int) (ReaderDescriptor.LENGTH / Long.BYTES)]);

  /** A rank writes its header. */
  @Actor
  public void rank() {
    ReaderDescriptor.writeHeader(reader, HEADER);
  }

  /** The daemon comes across the file. */
  @Actor
  public void daemon(JJ_Result result) {
    try {
      ReaderHeader header = ReaderDescriptor.readHeader("reader", reader);
      result.r1 = header.id().low();
      result.r2 = header.rank();
    } catch (BatchWeaveException e) {
      boolean isEarly = e.kind() == BatchWeaveException.Kind.RETRYABLE;
      result.r1 = isEarly ? -1 : -2;
      result.r2 = -1;
    }
  }
}
