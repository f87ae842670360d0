package io.batchweave.bridge.daemon;

import io.batchweave.log.SessionState;
import io.batchweave.log.State;

/**
 * Notices in the log that a newer launch of a group has taken over. Told on one thread, asked on
 * another.
 */
final class GroupWatch {
  private final String group;
  private final long view;
  private volatile String newer = "";

  /**
   * Creates one.
   *
   * @param group the training job
   * @param view the version that registered the launch that is served
   */
  GroupWatch(String group, long view) {
    this.group = group;
    this.view = view;
  }

  /** Takes a state at the head. */
  void onState(State state) {
    SessionState live = state.group(group).session();
    if (live != null && live.view() > view) {
      newer = live.sessionId();
    }
  }

  /** The launch that has taken over; empty while none has. */
  String newer() {
    return newer;
  }
}
