package io.batchweave.bridge.handshake;

import io.batchweave.Bytes;
import io.batchweave.format.Block;

/**
 * What a rank says to the daemon to attach. Idempotent: the attachment is the reader file.
 *
 * @param attempt chosen by the rank, repeated in the answer
 * @param welcomeStreamId stream to which the rank already subscribes
 * @param abi version of the shared-memory ABI the rank was built for
 * @param stream stream URL, or the stream's name in {@code daemon.json}
 * @param group training job
 * @param session one launch of it
 * @param shape where the rank stands in the training job
 * @param nextStep step after the last one taken; {@link #NO_STEP}: start at the token, else at the
 *     session's start
 * @param viewVersion the session's view, as an earlier Welcome told it; 0: not known
 * @param takeover what the session does to a live one of its group
 * @param sender who says it, for messages
 * @param readerFile name of the reader file, created, locked and mapped
 * @param previousReaderFile of the attachment this one replaces; empty if none
 * @param token resume token; empty if none
 */
public record Hello(
    long attempt,
    int welcomeStreamId,
    int abi,
    String stream,
    String group,
    String session,
    RankShape shape,
    long nextStep,
    long viewVersion,
    Block.Takeover takeover,
    Sender sender,
    String readerFile,
    String previousReaderFile,
    Bytes token)
    implements Request {
  /** No step named. */
  public static final long NO_STEP = -1;

  /**
   * Where a rank stands.
   *
   * @param dp data-parallel coordinate, in {@code [0, dpSize)}
   * @param dpSize data-parallel size
   * @param cp context-parallel coordinate, in {@code [0, cpSize)}
   * @param cpSize context-parallel size
   * @param localReaders ranks of the session on this node, at least 1
   */
  public record RankShape(int dp, int dpSize, int cp, int cpSize, int localReaders) {}

  /**
   * Who says it.
   *
   * @param rank global rank, -1 if unknown
   * @param pid process id as the rank sees it, 0 if unknown
   * @param client kind of client
   */
  public record Sender(int rank, int pid, ClientKind client) {}

  @Override
  public Hello withAttempt(long newAttempt, int newWelcomeStreamId) {
    return new Hello(
        newAttempt,
        newWelcomeStreamId,
        abi,
        stream,
        group,
        session,
        shape,
        nextStep,
        viewVersion,
        takeover,
        sender,
        readerFile,
        previousReaderFile,
        token);
  }

  /** The rank, its place and its process, for messages. */
  @Override
  public String describe() {
    return "rank="
        + sender.rank()
        + " dp="
        + shape.dp()
        + "/"
        + shape.dpSize()
        + " cp="
        + shape.cp()
        + "/"
        + shape.cpSize()
        + " pid="
        + sender.pid()
        + " group="
        + group
        + " session="
        + session;
  }
}
