package io.batchweave.simulate;

import io.batchweave.simulate.Explorer.Scope;
import java.util.Locale;

/** The cases that are explored, each through every interleaving. */
public enum SmallCase {
  /** One producer dies at any point and is replaced at any later one; one unclear answer. */
  DEATH_AND_UNCLEAR(1, 2, 1, 1, 0, Log.EMPTY),
  /** Two processes of one producer, one unclear answer. */
  DUPLICATE_AND_UNCLEAR(1, 2, 0, 1, 1, Log.EMPTY),
  /** Two producers, one unclear answer. */
  TWO_AND_UNCLEAR(2, 2, 0, 1, 0, Log.EMPTY),
  /** Two producers, one of them dies and is replaced. */
  TWO_AND_DEATH(2, 2, 1, 0, 0, Log.EMPTY),
  /** The version that fences makes a snapshot due; one unclear answer. */
  FENCE_AND_SNAPSHOT(1, 2, 0, 1, 0, Log.SNAPSHOT_DUE),
  /** Two processes of one producer fence while a snapshot is due. */
  DUPLICATE_AND_SNAPSHOT(1, 1, 0, 0, 1, Log.SNAPSHOT_DUE),
  /** Two producers fence while a snapshot is due. */
  TWO_AND_SNAPSHOT(2, 1, 0, 0, 0, Log.SNAPSHOT_DUE),
  /** Two producers, one dies and is replaced, one unclear answer. */
  TWO_DEATH_AND_UNCLEAR(2, 2, 1, 1, 0, Log.EMPTY),
  /** Two producers fence while a snapshot is due, one unclear answer. */
  TWO_SNAPSHOT_AND_UNCLEAR(2, 1, 0, 1, 0, Log.SNAPSHOT_DUE);

  /** What stands on the store. */
  private enum Log {
    EMPTY,
    SNAPSHOT_DUE
  }

  private final int producers;
  private final int batches;
  private final int deaths;
  private final int unclear;
  private final int duplicates;
  private final Log log;

  SmallCase(int producers, int batches, int deaths, int unclear, int duplicates, Log log) {
    this.producers = producers;
    this.batches = batches;
    this.deaths = deaths;
    this.unclear = unclear;
    this.duplicates = duplicates;
    this.log = log;
  }

  Scope scope() {
    Prehistory prehistory = log == Log.EMPTY ? Prehistory.none() : Prehistory.snapshotDue();
    return new Scope(producers, batches, deaths, unclear, duplicates, prehistory);
  }

  /** Its name for people, and what is in it. */
  @Override
  public String toString() {
    String name = name().toLowerCase(Locale.ROOT).replace('_', '-');
    return name
        + " (producers="
        + producers
        + " batches="
        + batches
        + " deaths="
        + deaths
        + " unclear="
        + unclear
        + " duplicates="
        + duplicates
        + " log="
        + log.name().toLowerCase(Locale.ROOT).replace('_', '-')
        + ")";
  }
}
