package io.batchweave.bridge.handshake;

/** What a rank says to the daemon; answered by an {@link Answer}. */
public sealed interface Request permits Hello, Checkpoint, Question {
  /** Chosen by the rank, repeated in the answer. */
  long attempt();

  /** Stream to which the rank already subscribes. */
  int welcomeStreamId();

  /** Version of the shared-memory ABI the rank was built for. */
  int abi();

  /** Stream URL, or the stream's name in {@code daemon.json}. */
  String stream();

  /**
   * The same for another attempt.
   *
   * @param newAttempt another number
   * @param newWelcomeStreamId where the answer is awaited
   */
  Request withAttempt(long newAttempt, int newWelcomeStreamId);

  /** Who says it, for messages. */
  String describe();
}
