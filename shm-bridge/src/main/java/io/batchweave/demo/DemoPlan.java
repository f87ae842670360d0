package io.batchweave.demo;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * What the demo does.
 *
 * @param root the repository
 * @param workDirectory where reports, logs and, by default, the store lie
 * @param shmDirectory the daemon directory, on a tmpfs
 * @param storeUrl root of the stream
 * @param storeVariables settings of the store for the processes, such as credentials
 * @param inputs files and directories to ingest
 * @param python what two of the four ranks are
 */
public record DemoPlan(
    Path root,
    Path workDirectory,
    Path shmDirectory,
    String storeUrl,
    Map<String, String> storeVariables,
    List<String> inputs,
    PythonRanks python) {
  /** Data-parallel size of the demo's grid. */
  public static final int DP = 2;

  /** Context-parallel size of the demo's grid. */
  public static final int CP = 2;

  /** Producers that share the input. */
  public static final int PRODUCERS = 2;

  /** Tokens of a sequence; {@link #CP} cuts it. */
  public static final int SEQUENCE_TOKENS = 512;

  /** Sequences of a step. */
  public static final int GLOBAL_BATCH = 16;

  private static final long LEAST_BATCHES_PER_SECOND = 15;
  private static final long LONGEST_SECONDS = 20;

  /** Copies the collections. */
  public DemoPlan {
    storeVariables = Map.copyOf(storeVariables);
    inputs = List.copyOf(inputs);
  }

  /**
   * Batches a second that one producer commits at most: slow enough to watch, fast enough for much
   * input.
   *
   * @param expectedSteps steps of all producers
   */
  public static long batchesPerSecond(long expectedSteps) {
    return Math.max(LEAST_BATCHES_PER_SECOND, expectedSteps / (PRODUCERS * LONGEST_SECONDS));
  }

  /**
   * The id of a producer.
   *
   * @param index from 0
   */
  public static String producerId(int index) {
    return "demo-" + index;
  }

  /**
   * What a rank writes.
   *
   * @param rank from 0
   */
  public Path report(int rank) {
    return workDirectory.resolve("rank-" + rank + ".jsonl");
  }
}
