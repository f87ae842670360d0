package io.batchweave.client;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Envelope;
import io.batchweave.format.Grid;
import io.batchweave.format.Limits;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.StreamCapabilities;
import io.batchweave.format.StreamCodec;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Payload;
import io.batchweave.store.PutOutcome;
import io.batchweave.store.StoreException;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreTraits;
import io.batchweave.store.probe.Probe;
import io.batchweave.store.probe.ProbePlan;
import io.batchweave.store.probe.ProbeReport;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.agrona.concurrent.SystemNanoClock;

/** Makes and describes streams: the object {@code stream} under a root. */
public final class Streams {
  /** Longer than all attempts of a store that answers at all. */
  private static final long ANSWER_NS = TimeUnit.SECONDS.toNanos(90);

  private Streams() {}

  /**
   * Creates a stream, unless the root already is one. Creating the same grid again is no error: the
   * existing stream is returned.
   *
   * @param store the root
   * @param grid what its TGBs will be cut for
   * @return the stream that is there now
   * @throws BatchWeaveException {@link Kind#CONFIG} if there is a stream of another grid; {@link
   *     Kind#TOO_NEW}; or as the store fails
   */
  public static StreamDescriptor create(ObjectStore store, Grid grid) {
    return create(store, grid, 0);
  }

  /**
   * As {@link #create(ObjectStore, Grid)}, on a store that has shown that it keeps one winner of a
   * create race; what was learned about it is recorded in the stream. A root that already is a
   * stream is not looked at again.
   *
   * @param store the root
   * @param grid what its TGBs will be cut for
   * @param unsound what to do if the store failed
   * @return the stream that is there now
   * @throws BatchWeaveException {@link Kind#CONFIG} if the store failed; or as without the check
   */
  public static StreamDescriptor createChecked(ObjectStore store, Grid grid, Unsound unsound) {
    if (isStream(store)) {
      return create(store, grid, 0);
    }
    ProbeReport report =
        new Probe(store, ProbePlan.CREATION, SystemNanoClock.INSTANCE, line -> {}).run();
    if (!report.sound() && unsound == Unsound.REFUSE) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "the store does not keep what commits rely on: url="
              + store.url()
              + " "
              + report.failures()
              + "; use another store (see `probe`; `init --force` makes the stream all the same,"
              + " and nothing is promised on it)");
    }
    return create(store, grid, capabilities(report));
  }

  private static boolean isStream(ObjectStore store) {
    try {
      return find(store).isPresent();
    } catch (StoreException e) {
      if (e.failure() == StoreFailure.CONFIG) {
        // A directory yet to be made; if it is more than that, the first put says so.
        return false;
      }
      throw e;
    }
  }

  /** What to do with a store that fails the create race. */
  public enum Unsound {
    /** Make no stream. */
    REFUSE,
    /** Make it all the same and record that nothing is promised. */
    RECORD
  }

  private static long capabilities(ProbeReport report) {
    StoreTraits traits = report.traits();
    return (report.sound() ? StreamCapabilities.CREATE_RACE : StreamCapabilities.UNSOUND_STORE)
        | bit(traits.checksums(), StreamCapabilities.CHECKSUMS)
        | bit(traits.versioning(), StreamCapabilities.VERSIONING)
        | bit(traits.lifecycle(), StreamCapabilities.LIFECYCLE);
  }

  private static long bit(StoreTraits.Trait trait, long bit) {
    return trait.answer() == StoreTraits.Answer.YES ? bit : 0;
  }

  private static StreamDescriptor create(ObjectStore store, Grid grid, long capabilities) {
    StreamDescriptor created =
        new StreamDescriptor(
            UUID.randomUUID(), Envelope.FORMAT, grid.dp(), grid.cp(), capabilities);
    Payload body = Payload.of(Bytes.wrap(StreamCodec.encode(created)));
    try {
      if (join(store.putIfAbsent(ObjectNames.STREAM, body), ANSWER_NS) == PutOutcome.CREATED) {
        return created;
      }
    } catch (StoreException e) {
      if (!e.failure().retryable()) {
        throw e;
      }
      // Whether it landed is told by what is there now.
      Optional<StreamDescriptor> found = find(store);
      if (found.isEmpty()) {
        throw e;
      }
    }
    StreamDescriptor existing = describe(store);
    if (!existing.grid().equals(grid)) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "stream exists with another grid: url="
              + store.url()
              + " grid="
              + existing.dp()
              + "x"
              + existing.cp()
              + " asked="
              + grid.dp()
              + "x"
              + grid.cp()
              + "; use that grid or another root");
    }
    return existing;
  }

  /**
   * Describes the stream of a root.
   *
   * @param store the root
   * @throws BatchWeaveException {@link Kind#CONFIG} if the root is no stream, {@link Kind#TOO_NEW}
   *     if a newer program made it, {@link Kind#CORRUPT}; or as the store fails
   */
  public static StreamDescriptor describe(ObjectStore store) {
    return find(store)
        .orElseThrow(() ->
            new BatchWeaveException(
                Kind.CONFIG,
                "not a stream: url="
                    + store.url()
                    + " missing="
                    + ObjectNames.STREAM
                    + "; check the URL or make one with `init`"));
  }

  /**
   * Looks for the stream of a root.
   *
   * @param store the root
   * @return empty if the root is no stream
   * @throws BatchWeaveException as {@link #describe}
   */
  public static Optional<StreamDescriptor> find(ObjectStore store) {
    Bytes bytes;
    try {
      bytes = join(store.get(ObjectNames.STREAM, null, Limits.STREAM_BYTES), ANSWER_NS);
    } catch (StoreException e) {
      if (e.failure() == StoreFailure.NOT_FOUND) {
        return Optional.empty();
      }
      throw e;
    }
    return Optional.of(StreamCodec.decode(ObjectNames.STREAM, bytes));
  }

  /** Waits for a request, not for ever, and throws what it ended with. */
  static <T> T join(CompletableFuture<T> future, long waitNs) {
    try {
      return future.get(waitNs, TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof BatchWeaveException cause) {
        throw cause;
      }
      throw new CompletionException(e.getCause());
    } catch (TimeoutException e) {
      future.cancel(false);
      throw new BatchWeaveException(
          Kind.RETRYABLE,
          "no answer from the store: waitedMs=" + waitNs / 1_000_000 + "; try again",
          e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      future.cancel(false);
      throw new BatchWeaveException(Kind.RETRYABLE, "interrupted while waiting; call again", e);
    } catch (CancellationException e) {
      throw new BatchWeaveException(Kind.RETRYABLE, "request cancelled; try again", e);
    }
  }
}
