package io.batchweave.bridge.handshake;

/**
 * What a rank says to learn how its stream stands at the head.
 *
 * @param attempt chosen by the rank, repeated in the answer
 * @param welcomeStreamId stream to which the rank already subscribes
 * @param abi version of the shared-memory ABI the rank was built for
 * @param stream stream URL, or the stream's name in {@code daemon.json}
 * @param group training job
 * @param session the rank's launch
 * @param viewVersion the session's view, as Welcome told it
 */
public record Question(
    long attempt,
    int welcomeStreamId,
    int abi,
    String stream,
    String group,
    String session,
    long viewVersion)
    implements Request {
  @Override
  public Question withAttempt(long newAttempt, int newWelcomeStreamId) {
    return new Question(newAttempt, newWelcomeStreamId, abi, stream, group, session, viewVersion);
  }

  @Override
  public String describe() {
    return "group=" + group + " session=" + session;
  }
}
