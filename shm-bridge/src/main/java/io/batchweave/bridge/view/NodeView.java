package io.batchweave.bridge.view;

import java.util.List;
import java.util.Map;

/**
 * A node daemon, its rings and its ranks, as far as they could be read.
 *
 * @param directory the daemon directory
 * @param pid the daemon's process id, for people
 * @param streams URLs that are served
 * @param rings by number
 * @param metrics counters of the daemon by name, labels summed up; empty when they cannot be had
 * @param notes what could not be read, one line each
 */
public record NodeView(
    String directory,
    long pid,
    List<String> streams,
    List<Ring> rings,
    Map<String, Double> metrics,
    List<String> notes) {
  /** Copies the collections. */
  public NodeView {
    streams = List.copyOf(streams);
    rings = List.copyOf(rings);
    metrics = Map.copyOf(metrics);
    notes = List.copyOf(notes);
  }

  /** A counter of the daemon; 0 when it is not known. */
  public double metric(String name) {
    return metrics.getOrDefault(name, 0.0);
  }

  /**
   * One ring and the newest generation in it.
   *
   * @param ring its number
   * @param lengthBytes its length
   * @param usedBytes allocated, kept or leased
   * @param group the training job; empty when none has come yet
   * @param session its launch
   * @param generation number of the newest generation, -1 when there is none
   * @param state {@code open}, {@code closed: reason} or {@code empty}
   * @param nextStep the step that is published next, -1 when it is not known
   * @param publishedSteps steps published in order in this generation
   * @param aheadSteps steps allocated beyond what is published
   * @param unfinishedFetches requests that may still write
   * @param blockedBytes bytes of the next step while it does not fit, else 0
   * @param trouble the last retryable trouble, empty when there is none
   * @param ranks who reads it, by coordinate
   */
  public record Ring(
      int ring,
      long lengthBytes,
      long usedBytes,
      String group,
      String session,
      long generation,
      String state,
      long nextStep,
      long publishedSteps,
      long aheadSteps,
      int unfinishedFetches,
      long blockedBytes,
      String trouble,
      List<Rank> ranks) {
    /** Copies the list. */
    public Ring {
      ranks = List.copyOf(ranks);
    }
  }

  /**
   * One attachment.
   *
   * @param rank global rank, -1 unknown
   * @param pid its process, for people
   * @param dp data-parallel index
   * @param cp context-parallel index
   * @param lives whether its lock is held
   * @param generation that it reads; an older one while it only holds leases there
   * @param step the last step it took, -1 before the first one or where that is forgotten
   * @param heldSteps steps it has not released
   * @param waits whether it waits for a step that is not published
   * @param blocks whether its leases keep the next step from fitting
   */
  public record Rank(
      int rank,
      int pid,
      int dp,
      int cp,
      boolean lives,
      long generation,
      long step,
      long heldSteps,
      boolean waits,
      boolean blocks) {}
}
