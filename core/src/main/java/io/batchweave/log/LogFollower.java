package io.batchweave.log;

import io.batchweave.BatchWeaveException;
import io.batchweave.Bytes;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.store.StoreResponse;
import org.jspecify.annotations.Nullable;

/**
 * Reads the log: opens it cold, follows it, looks steps up. Embedded by the machines that commit,
 * produce and read; they pass on its requests under ids of their own, drain {@link #nextEvent}
 * after every call (it stops reading when nobody does) and never change {@link #state}.
 *
 * <p>Every input method only notes what is wanted; as the rule for machines says, {@link #onTime}
 * is called after it.
 */
@SuppressWarnings({"DoNotCallSuggester", "ObjectToString"})
public final class LogFollower implements Machine<LogFollower> {
  /** How to go on once the head is known. */
  public enum Mode {
    /** Reads only what {@link #requireHead} and lookups ask for. */
    PAUSED,
    /** Looks for new versions at the pace at which they come. */
    PACED
  }

  /**
   * A follower that will open the stream at the first {@link #onTime}.
   *
   * @param policy how eagerly it reads
   * @param bits jitter
   */
  public LogFollower(FollowPolicy policy, Bits bits) {
    throw new UnsupportedOperationException(policy.toString() + bits.fingerprint());
  }

  /** How to go on; PAUSED at first. */
  public void follow(Mode mode) {
    throw new UnsupportedOperationException(mode.toString());
  }

  /**
   * Asks to read on until a look for the next version that began after this call finds none; {@link
   * #headKnown} is false until then. Opening counts as such a call.
   */
  public void requireHead() {
    throw new UnsupportedOperationException();
  }

  /**
   * Takes a version that the caller has just created itself, so that it need not be read again.
   *
   * @param version the number under which it was created; ignored unless it follows the state
   * @param body exactly the bytes for which the store answered {@link StoreResponse.Created}
   * @param nowNs the current monotonic time in nanoseconds
   */
  public void committed(long version, Bytes body, long nowNs) {
    throw new UnsupportedOperationException(version + " " + body + nowNs);
  }

  /**
   * Takes note of a snapshot that the caller has just written.
   *
   * @param version of its state
   * @param lengthBytes of the object
   */
  public void snapshotWritten(long version, long lengthBytes) {
    throw new UnsupportedOperationException(version + " " + lengthBytes);
  }

  /** Whether {@link #state} and {@link #stream} may be asked. */
  public boolean isOpen() {
    throw new UnsupportedOperationException();
  }

  /** Whether the last {@link #requireHead} is fulfilled: the state is that of the head. */
  public boolean headKnown() {
    throw new UnsupportedOperationException();
  }

  /** The state folded so far; for reading only, valid until the next call. */
  public State state() {
    throw new UnsupportedOperationException();
  }

  /** What the object {@code stream} says. */
  public StreamDescriptor stream() {
    throw new UnsupportedOperationException();
  }

  /** Takes the next event; null when there is none. */
  public @Nullable LogEvent nextEvent() {
    throw new UnsupportedOperationException();
  }

  /**
   * Looks a step up; the first question about a segment that is not at hand makes it be read.
   *
   * @param step from 0
   */
  public StepLookup lookup(long step) {
    throw new UnsupportedOperationException("" + step);
  }

  /** How things stand with snapshots at {@link #state}. */
  public SnapshotPolicy.Standing snapshots() {
    throw new UnsupportedOperationException();
  }

  /** Why the follower has stopped for good; null while it works. */
  public @Nullable BatchWeaveException failure() {
    throw new UnsupportedOperationException();
  }

  /** The last failed request while there is passing trouble, for messages; null otherwise. */
  public @Nullable String trouble() {
    throw new UnsupportedOperationException();
  }

  @Override
  public void onResponse(long requestId, StoreResponse response, long nowNs, Requests requests) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void onTime(long nowNs, Requests requests) {
    throw new UnsupportedOperationException();
  }

  @Override
  public long wakeAtNs() {
    throw new UnsupportedOperationException();
  }

  @Override
  public LogFollower copy() {
    throw new UnsupportedOperationException();
  }

  @Override
  public long fingerprint() {
    throw new UnsupportedOperationException();
  }
}
