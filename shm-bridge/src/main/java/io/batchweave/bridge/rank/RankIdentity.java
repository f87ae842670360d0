package io.batchweave.bridge.rank;

import io.batchweave.bridge.ring.Coordinate;
import io.batchweave.format.Limits;

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
  private static final String NAME = "1 to 64 characters of a-z, 0-9 and -";

  /**
   * Refuses what no daemon would take, before one is looked for.
   *
   * @throws IllegalArgumentException naming the value
   */
  public RankIdentity {
    require(!stream.isBlank(), "stream", stream, "the URL that the daemon serves, or its name");
    require(isName(group), "group", group, NAME);
    require(isName(session), "session", session, NAME);
    require(dpSize >= 1, "dpSize", dpSize, "at least 1");
    require(cpSize >= 1, "cpSize", cpSize, "at least 1");
    require(isPlace(coordinate.dp(), dpSize), "dp", coordinate.dp(), "0 to dpSize - 1");
    require(isPlace(coordinate.cp(), cpSize), "cp", coordinate.cp(), "0 to cpSize - 1");
    long slices = (long) dpSize * cpSize;
    require(slices <= Limits.SLICES, "dpSize*cpSize", slices, "at most " + Limits.SLICES);
    require(localReaders >= 1, "localReaders", localReaders, "at least 1, this rank");
  }

  private static boolean isName(String name) {
    return Limits.NAME_PATTERN.matcher(name).matches();
  }

  private static boolean isPlace(int index, int size) {
    return index >= 0 && index < size;
  }

  private static void require(boolean holds, String name, Object value, String expected) {
    if (!holds) {
      throw new IllegalArgumentException(
          "not a rank: " + name + "=" + value + "; expected " + expected);
    }
  }

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
