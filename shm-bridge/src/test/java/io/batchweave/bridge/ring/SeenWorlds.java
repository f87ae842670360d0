package io.batchweave.bridge.ring;

/**
 * What an {@link Exploration} went into, by fingerprint of a world: ten bytes a place, as there are
 * tens of millions. One bit each for up to sixteen ways in which things may still go wrong.
 */
final class SeenWorlds {
  private long[] fingerprints = new long[1 << 12];

  /** By place; 0 where it is free. */
  private char[] ways = new char[fingerprints.length];

  private int size;

  int size() {
    return size;
  }

  /** The ways that were gone into; 0 when the world is new. */
  int ways(long fingerprint) {
    return ways[place(fingerprint)];
  }

  /** Notes more ways, at least one. */
  void add(long fingerprint, int more) {
    int place = place(fingerprint);
    if (ways[place] == 0) {
      fingerprints[place] = fingerprint;
      size++;
    }
    ways[place] |= (char) more;
    if (size > fingerprints.length / 8 * 7) {
      grow();
    }
  }

  /** Where it is, or the free place where it belongs. */
  private int place(long fingerprint) {
    int place = (int) fingerprint & fingerprints.length - 1;
    while (ways[place] != 0 && fingerprints[place] != fingerprint) {
      place = place + 1 & fingerprints.length - 1;
    }
    return place;
  }

  private void grow() {
    long[] oldFingerprints = fingerprints;
    char[] oldWays = ways;
    fingerprints = new long[2 * oldFingerprints.length];
    ways = new char[fingerprints.length];
    for (int old = 0; old < oldWays.length; old++) {
      if (oldWays[old] != 0) {
        int place = place(oldFingerprints[old]);
        fingerprints[place] = oldFingerprints[old];
        ways[place] = oldWays[old];
      }
    }
  }
}
