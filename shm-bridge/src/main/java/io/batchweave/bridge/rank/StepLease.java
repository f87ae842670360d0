package io.batchweave.bridge.rank;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.ring.Coordinate;
import io.batchweave.bridge.ring.TableDescriptor;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * A rank's hold on one step: its slices, in place, read-only, until {@link #release}. The object is
 * reused for a later step after that, so it must not be kept. Belongs to the client's thread.
 */
public final class StepLease {
  private final RankRing ring;
  private long n = -1;
  private long step;
  private long nextStep;
  private long regionOffset;
  private long regionLengthBytes;
  private int sliceCount;
  private boolean held;

  StepLease(RankRing ring) {
    this.ring = ring;
  }

  void take(long takenN, long takenStep, long stepAfter, long offset, long length, int slices) {
    n = takenN;
    step = takenStep;
    nextStep = stepAfter;
    regionOffset = offset;
    regionLengthBytes = length;
    sliceCount = slices;
    held = true;
  }

  boolean isHeld() {
    return held;
  }

  long n() {
    return n;
  }

  /** The step. */
  public long step() {
    return step;
  }

  /** The step after it for this session. */
  public long nextStep() {
    return nextStep;
  }

  /** Bytes that this step takes of the ring. */
  public long regionLengthBytes() {
    return regionLengthBytes;
  }

  /** Number of slices that the node has of this step; those of other ranks included. */
  public int sliceCount() {
    return sliceCount;
  }

  private long entry(int index) {
    if (!held) {
      throw new IllegalStateException("the step is released: step=" + step);
    }
    if (index < 0 || index >= sliceCount) {
      throw new IndexOutOfBoundsException("slice=" + index + " of " + sliceCount);
    }
    return regionOffset + TableDescriptor.entryOffset(index);
  }

  /**
   * Finds the slice of a coordinate of the stream's grid.
   *
   * @return its index, or -1 when this node does not have it
   */
  public int find(int dp, int cp) {
    MemorySegment data = ring.data();
    for (int i = 0; i < sliceCount; i++) {
      long entry = entry(i);
      if (TableDescriptor.dp(data, entry) == dp && TableDescriptor.cp(data, entry) == cp) {
        return i;
      }
    }
    return -1;
  }

  /**
   * Number of slices that this rank consumes: the stream's data-parallel size by the job's. They
   * are those at dp·k to dp·k+k-1 of its cp.
   */
  public int ownSliceCount() {
    return ring.ownSliceCount();
  }

  /**
   * Finds one of this rank's own slices.
   *
   * @param i from 0 to {@link #ownSliceCount}, in the order of consumption
   * @return its index
   * @throws BatchWeaveException CORRUPT when the daemon left it out
   */
  public int ownSlice(int i) {
    Objects.checkIndex(i, ring.ownSliceCount());
    Coordinate place = ring.coordinate();
    int dp = place.dp() * ring.ownSliceCount() + i;
    int index = find(dp, place.cp());
    if (index < 0) {
      throw new BatchWeaveException(
          Kind.CORRUPT,
          "the region lacks a slice of this rank: step="
              + step
              + " dp="
              + dp
              + " cp="
              + place.cp());
    }
    return index;
  }

  /** Data-parallel coordinate of a slice in the stream's grid. */
  public int dp(int index) {
    return TableDescriptor.dp(ring.data(), entry(index));
  }

  /** Context-parallel coordinate of a slice in the stream's grid. */
  public int cp(int index) {
    return TableDescriptor.cp(ring.data(), entry(index));
  }

  /** Where a slice begins in {@link #data}. */
  public long sliceOffset(int index) {
    return regionOffset + TableDescriptor.sliceOffset(ring.data(), entry(index));
  }

  /** Length of a slice. */
  public long sliceLengthBytes(int index) {
    return TableDescriptor.sliceLength(ring.data(), entry(index));
  }

  /** Checksum (CRC32C) of a slice, as the manifest has it. */
  public int crc32c(int index) {
    return TableDescriptor.crc32c(ring.data(), entry(index));
  }

  /** Micro-batches of a slice. */
  public int microBatches(int index) {
    return TableDescriptor.microBatches(ring.data(), entry(index));
  }

  /** Samples of a slice. */
  public long samples(int index) {
    return TableDescriptor.samples(ring.data(), entry(index));
  }

  /** Tokens of a slice. */
  public long tokens(int index) {
    return TableDescriptor.tokens(ring.data(), entry(index));
  }

  /** The whole ring, read-only: with {@link #sliceOffset} a slice without any allocation. */
  public MemorySegment data() {
    return ring.data();
  }

  /** The bytes of a slice, read-only, valid until the step is released. */
  public MemorySegment slice(int index) {
    return ring.data().asSlice(sliceOffset(index), sliceLengthBytes(index));
  }

  /** Gives the step back, in any order; its bytes may be overwritten at once. */
  public void release() {
    if (!held) {
      throw new IllegalStateException("released twice: step=" + step);
    }
    held = false;
    ring.release(this);
  }
}
