package io.batchweave.bridge.ring;

/**
 * A bug planted between a ring's machine, its files and its ranks: the exploration must find it.
 */
enum RingBug {
  /** What a rank took since the last look does not count when a generation is closed. */
  CLOSES_WITHOUT_A_LOOK,
  /** The next daemon believes that nobody holds what was taken last. */
  TAKES_OVER_WITHOUT_A_LOOK,
  /** The next daemon takes a step for held whose rank is about to back out of it. */
  COUNTS_A_STEP_THAT_IS_BACKED_OUT_OF,
  /** The next daemon does not wait for ranks that were attaching. */
  FORGETS_WHO_WAS_ATTACHING,
  /** The next daemon takes bytes for complete because a descriptor says where they lie. */
  TRUSTS_KEPT_BYTES,
  /** A request that is cancelled counts as finished. */
  CANCELLED_IS_FINISHED,
  /** A control file is dropped although it describes a lease. */
  DROPS_CONTROLS_AT_ONCE,
  /** A rank uses a step although the generation was closed while it took it. */
  DOES_NOT_BACK_OUT,
  /** A step that was taken counts as released. */
  TAKEN_IS_RELEASED,
  /** A rank that attaches again does not release what it holds in its older file. */
  NEVER_RELEASES_OLD_LEASES,
  /** The lock of a rank that died is not looked at. */
  IGNORES_LOCKS,
  /** A rank that attaches again asks for the step that it took last. */
  ASKS_FOR_ITS_LAST_STEP,
  /** A rank that comes to a generation that is closed already drops the files it had before. */
  ATTACHES_TO_WHAT_IS_CLOSED
}
