package io.batchweave.log;

/**
 * A registered model checkpoint. An id never silently takes the place of another pin with the same
 * id: both stay until {@code keep} evicts one or an unpin removes all with that id.
 *
 * @param id its name within the group
 * @param view version of the session that registered it; {@link #OPERATOR} for an operator's
 * @param step the next step to read when training goes on from it
 */
public record PinState(String id, long view, long step) implements Comparable<PinState> {
  /** In place of a session's version: neither evicts nor is evicted. */
  public static final long OPERATOR = 0;

  /** Whether an operator registered it. */
  public boolean byOperator() {
    return view == OPERATOR;
  }

  @Override
  public int compareTo(PinState other) {
    int order = Long.compare(view, other.view);
    order = order != 0 ? order : Long.compare(step, other.step);
    return order != 0 ? order : id.compareTo(other.id);
  }
}
