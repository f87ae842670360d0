package io.batchweave.bridge.rank;

import io.batchweave.bridge.ring.Coordinate;

/**
 * Which rank of which training job this is.
 *
 * @param stream stream URL, or the stream's name in {@code daemon.json}
 * @param group the training job
 * @param session one launch of it
 * @param coordinate where the rank stands in the job's grid
 * @param dpSize data-parallel size of the job
 * @param cpSize context-parallel size of the job
 * @param localReaders ranks of the session on this node (LOCAL_WORLD_SIZE)
 * @param rank global rank, for messages; -1 unknown
 */
public record RankIdentity(
    String stream,
    String group,
    String session,
    Coordinate coordinate,
    int dpSize,
    int cpSize,
    int localReaders,
    int rank) {
  /** One line for messages. */
  public String describe() {
    return "stream="
        + stream
        + " session="
        + session
        + " rank="
        + rank
        + " dp="
        + coordinate.dp()
        + " cp="
        + coordinate.cp();
  }
}
