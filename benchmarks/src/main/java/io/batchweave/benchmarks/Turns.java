package io.batchweave.benchmarks;

/**
 * In what order ways are measured in a round. Each goes first in turn, and every other round runs
 * the other way round: what one leaves behind, dirty pages or a busy server, is not always before
 * the same other one.
 */
public final class Turns {
  private Turns() {}

  /**
   * Which way it is.
   *
   * @param round may be negative
   * @param place in that round, from 0
   * @param ways how many there are
   */
  public static int of(int round, int place, int ways) {
    return Math.floorMod(round % 2 == 0 ? round + place : round - place, ways);
  }
}
