package io.batchweave.bridge.handshake;

import java.util.UUID;

/** What the daemon answers to a {@link Request}. */
public sealed interface Answer {
  /**
   * The rank is attached.
   *
   * @param ring number of the ring
   * @param generation id of the generation, as in the control file's header
   * @param controlFile name of the control file
   * @param controlSizeBytes its length
   * @param dataFile name of the data file
   * @param dataSizeBytes its length
   * @param geometry sizes the rank checks against the header
   * @param start where the rank begins
   */
  record Welcome(
      int ring,
      UUID generation,
      String controlFile,
      long controlSizeBytes,
      String dataFile,
      long dataSizeBytes,
      Geometry geometry,
      Start start)
      implements Answer {}

  /**
   * Sizes of the ring and the grid.
   *
   * @param abi version of the shared-memory ABI of the files
   * @param slots descriptors in the control file, a power of two
   * @param pageSizeBytes regions start and end on multiples of this
   * @param hold steps a rank may hold while it asks for the next
   * @param gridDp data-parallel size of the stream's grid
   * @param gridCp context-parallel size of the stream's grid
   */
  record Geometry(int abi, int slots, int pageSizeBytes, int hold, int gridDp, int gridCp) {}

  /**
   * Where the rank begins.
   *
   * @param streamId the stream's id
   * @param viewVersion manifest version that is the session's view, 0 if none is registered
   * @param step the step this rank is served next
   * @param index n of that step in the generation
   */
  record Start(UUID streamId, long viewVersion, long step, long index) {}

  /**
   * The checkpoint is registered.
   *
   * @param version manifest version at which it was seen to be
   */
  record Registered(long version) implements Answer {}

  /**
   * How the stream stands.
   *
   * @param nextStep steps committed
   * @param horizon first step not reclaimed
   * @param sealed whether the stream ends at {@code nextStep}
   * @param startStep the session's start
   * @param sessionSteps steps from there, or from a later horizon, to {@code nextStep} that the
   *     session does not pass over
   */
  record Status(long nextStep, long horizon, boolean sealed, long startStep, long sessionSteps)
      implements Answer {}

  /**
   * The rank is not attached, or what it asked for was not done.
   *
   * @param code what to do
   * @param text one line for people: what, {@code name=value}, remedy
   * @param step as the code says, -1 if none
   * @param bytes as the code says, -1 if none
   * @param retryAfterMillis with {@link RefusalCode#NOT_YET} only, else 0
   */
  record Refused(RefusalCode code, String text, long step, long bytes, int retryAfterMillis)
      implements Answer {
    /**
     * A refusal without numbers.
     *
     * @param code what to do
     * @param text what, {@code name=value}, remedy
     */
    public Refused(RefusalCode code, String text) {
      this(code, text, -1, -1, 0);
    }

    /**
     * Says Hello again later.
     *
     * @param text what is awaited
     * @param retryAfterMillis when
     */
    public static Refused notYet(String text, int retryAfterMillis) {
      return new Refused(RefusalCode.NOT_YET, text, -1, -1, retryAfterMillis);
    }
  }
}
