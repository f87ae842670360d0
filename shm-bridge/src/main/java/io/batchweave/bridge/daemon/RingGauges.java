package io.batchweave.bridge.daemon;

import io.batchweave.bridge.ring.RingStatus;

/**
 * How a ring stands, for the metrics.
 *
 * @param ring its number
 * @param stream URL of the stream it serves; empty if none
 * @param group the training job
 * @param session the launch
 * @param readers ranks attached or expected
 * @param generation number of the newest generation
 * @param lengthBytes length of the ring
 * @param headStep steps committed as far as known, -1 if not known
 * @param status as in the control file
 */
record RingGauges(
    int ring,
    String stream,
    String group,
    String session,
    int readers,
    long generation,
    long lengthBytes,
    long headStep,
    RingStatus status) {
  static final RingGauges NONE = new RingGauges(0, "", "", "", 0, 0, 0, -1, RingStatus.IDLE);
}
