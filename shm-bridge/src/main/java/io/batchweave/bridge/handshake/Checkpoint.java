package io.batchweave.bridge.handshake;

/**
 * What a rank says to register a model checkpoint that has become durable. Idempotent.
 *
 * @param attempt chosen by the rank, repeated in the answer
 * @param welcomeStreamId stream to which the rank already subscribes
 * @param abi version of the shared-memory ABI the rank was built for
 * @param stream stream URL, or the stream's name in {@code daemon.json}
 * @param group training job
 * @param session the launch that wrote it
 * @param viewVersion the session's view, as Welcome told it
 * @param id the checkpoint's name
 * @param step the next step to read when training goes on from it
 * @param keep how many checkpoints of the group stay, the newest
 */
public record Checkpoint(
    long attempt,
    int welcomeStreamId,
    int abi,
    String stream,
    String group,
    String session,
    long viewVersion,
    String id,
    long step,
    int keep)
    implements Request {
  @Override
  public Checkpoint withAttempt(long newAttempt, int newWelcomeStreamId) {
    return new Checkpoint(
        newAttempt, newWelcomeStreamId, abi, stream, group, session, viewVersion, id, step, keep);
  }

  @Override
  public String describe() {
    return "group="
        + group
        + " session="
        + session
        + " checkpoint="
        + id
        + " step="
        + step
        + " keep="
        + keep;
  }
}
