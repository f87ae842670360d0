package io.batchweave.verify;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.client.ReaderContext;
import io.batchweave.client.StreamReader;
import io.batchweave.client.Streams;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.log.State;
import io.batchweave.store.ObjectStore;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.agrona.concurrent.NanoClock;

/** Verifies one stream, once. Used by one thread. */
public final class Verifier {
  private static final long LINE_NS = TimeUnit.SECONDS.toNanos(2);
  private static final long REFRESH_NS = TimeUnit.SECONDS.toNanos(60);
  private static final int HORIZON_VERSIONS = 8;

  private final ObjectStore store;
  private final Depth depth;
  private final NanoClock clock;
  private final Consumer<String> progress;
  private final Findings findings = new Findings();
  private long lastLineNs;

  /**
   * Prepares a verification; nothing is read yet.
   *
   * @param store the stream's root; stays open; only read
   * @param depth how closely data objects are looked at
   * @param clock paces the lines of progress
   * @param progress takes a line every two seconds
   */
  public Verifier(ObjectStore store, Depth depth, NanoClock clock, Consumer<String> progress) {
    this.store = store;
    this.depth = depth;
    this.clock = clock;
    this.progress = progress;
    this.lastLineNs = clock.nanoTime();
  }

  /**
   * Verifies.
   *
   * @return what was found, sound or not
   * @throws BatchWeaveException if it could not be done: CONFIG where there is no stream, TOO_NEW,
   *     CORRUPT where the object {@code stream} itself is damaged, or as the store fails
   */
  public VerifyReport run() {
    StreamDescriptor stream = Streams.describe(store);
    Reads reads = new Reads(store);
    long head = reads.head();
    long horizon = lowestHorizon(reads, head);
    try (DataAudit data = new DataAudit(store, stream.grid(), depth, findings)) {
      LogAudit log =
          new LogAudit(
              reads,
              findings,
              stream.streamId(),
              new LogAudit.Range(head, horizon),
              data::step,
              version ->
                  line(
                      "version "
                          + version
                          + " of "
                          + head
                          + ", "
                          + data.objects()
                          + " data objects looked at, "
                          + data.bytes()
                          + " bytes read, "
                          + findings.count()
                          + " findings"));
      State state = log.run();
      state.forEachProducer((id, producer) -> data.source(id, producer.sourceState()));
      data.finish();
      line("looking for objects that nothing names");
      data.countOrphans();
      noteUnjudged(state, horizon);
      findings.excuse(() -> currentHorizon(state.horizon()));
      return new VerifyReport(
          stream.streamId(),
          log.firstVersion(),
          state.version(),
          state.horizon(),
          state.nextStep(),
          findings.all(),
          findings.count(),
          findings.notes(),
          log.snapshotsCompared(),
          log.segmentsCompared(),
          data.objects(),
          data.bytes(),
          data.orphans(),
          data.orphanBytes());
    }
  }

  /**
   * The lowest horizon that one of the last versions says it knew: what lies below it need not be
   * there. Several, because one of them may be void and lie.
   */
  private static long lowestHorizon(Reads reads, long head) {
    long lowest = Long.MAX_VALUE;
    for (long version = head; version > Math.max(0, head - HORIZON_VERSIONS); version--) {
      Bytes body = Reads.awaitPresent(reads.version(version));
      if (body == null || ManifestCodec.isTombstone(body)) {
        continue;
      }
      try {
        String name = ObjectNames.version(version);
        lowest = Math.min(lowest, ManifestCodec.decode(name, body).header().horizon());
      } catch (BatchWeaveException e) {
        // The fold comes past it and says what is wrong; the others tell the horizon.
      }
    }
    return lowest == Long.MAX_VALUE ? 0 : Math.max(0, lowest);
  }

  private void noteUnjudged(State state, long horizon) {
    // Steps between were reclaimed by the last versions: what is missing of them is right.
    findings.excuse(state::horizon);
    if (state.horizon() < horizon) {
      findings.note(
          "the data of steps "
              + state.horizon()
              + " to "
              + horizon
              + " was not judged: the last versions lie about the horizon");
    }
  }

  /** A collector may have moved on since; if nobody can tell, nothing is excused. */
  private long currentHorizon(long known) {
    try (StreamReader reader =
        StreamReader.open(new ReaderContext().store(store).nanoClock(clock))) {
      return Math.max(known, reader.refresh(REFRESH_NS).horizon());
    } catch (BatchWeaveException e) {
      if (e.kind() == Kind.CONFIG) {
        throw e;
      }
      return known;
    }
  }

  private void line(String text) {
    long now = clock.nanoTime();
    if (now - lastLineNs >= LINE_NS) {
      lastLineNs = now;
      progress.accept(text);
    }
  }
}
