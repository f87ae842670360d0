package io.batchweave.bridge.ring;

/** Why a ring does not take a rank. */
public enum RingRefusal {
  /** Leases of others leave too little of the ring. */
  RING_HELD,
  /** Other ranks of the session announced other sizes or another number of local readers. */
  SIZES_DISAGREE,
  /** The reader file was already used for an attachment: make a new one. */
  READER_FILE,
  /** The ring serves another session that still has ranks. */
  NO_RING
}
