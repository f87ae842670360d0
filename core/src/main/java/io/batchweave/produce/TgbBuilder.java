package io.batchweave.produce;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Grid;
import io.batchweave.format.Limits;
import io.batchweave.format.SliceEntry;
import io.batchweave.format.TgbLayout;
import io.batchweave.store.Payload;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Collects the slices of one TGB. {@link #build} refuses a missing slice and slices that differ in
 * their number of micro-batches: nothing of such a TGB is ever uploaded. A builder makes one TGB.
 * Not thread-safe.
 */
public final class TgbBuilder {
  private final Grid grid;
  private final @Nullable Payload[] payloads;
  private final @Nullable SliceEntry[] entries;
  private String origin = "";
  private boolean built;

  /**
   * Starts a TGB.
   *
   * @param grid the stream's grid
   */
  public TgbBuilder(Grid grid) {
    this.grid = grid;
    this.payloads = new @Nullable Payload[grid.sliceCount()];
    this.entries = new @Nullable SliceEntry[grid.sliceCount()];
  }

  /**
   * Adds the slice of one coordinate. Its bytes are read once here, for the checksum, and once for
   * every attempt to upload; they must not change until the batch is committed.
   *
   * @param dp data-parallel index, from 0
   * @param cp context-parallel index, from 0
   * @param bytes the slice, at least one byte
   * @param microBatches micro-batches, at least 1, equal for all slices of the TGB
   * @param samples samples in the slice
   * @param tokens tokens in the slice
   * @throws BatchWeaveException {@link Kind#CONFIG} for a coordinate outside the grid or given
   *     twice, an empty slice, negative counts, or a file that cannot be read; {@link Kind#LIMIT}
   */
  public TgbBuilder slice(
      int dp, int cp, Payload bytes, int microBatches, long samples, long tokens) {
    if (dp < 0 || dp >= grid.dp() || cp < 0 || cp >= grid.cp()) {
      throw refused(dp, cp, "outside the grid of " + grid.dp() + "x" + grid.cp());
    }
    int index = grid.sliceIndex(dp, cp);
    if (entries[index] != null) {
      throw refused(dp, cp, "given twice");
    }
    if (bytes.lengthBytes() == 0) {
      throw refused(dp, cp, "empty; give at least one byte");
    }
    if (microBatches < 1 || samples < 0 || tokens < 0) {
      throw refused(
          dp,
          cp,
          "bad counts: microBatches="
              + microBatches
              + " samples="
              + samples
              + " tokens="
              + tokens
              + "; micro-batches are at least 1, the others at least 0");
    }
    requireLimits(dp, cp, bytes.lengthBytes(), Math.max(samples, tokens));
    entries[index] =
        new SliceEntry(
            0, bytes.lengthBytes(), crc32c(dp, cp, bytes), microBatches, samples, tokens);
    payloads[index] = bytes;
    return this;
  }

  /**
   * Adds the slice of one coordinate from memory.
   *
   * @param dp data-parallel index
   * @param cp context-parallel index
   * @param bytes the slice
   * @param microBatches micro-batches, at least 1
   * @param samples samples in the slice
   * @param tokens tokens in the slice
   * @throws BatchWeaveException as the other method
   */
  public TgbBuilder slice(
      int dp, int cp, Bytes bytes, int microBatches, long samples, long tokens) {
    return slice(dp, cp, Payload.of(bytes), microBatches, samples, tokens);
  }

  /**
   * Says where the data came from, for people.
   *
   * @param origin at most {@link Limits#ORIGIN_BYTES} of UTF-8
   * @throws BatchWeaveException {@link Kind#LIMIT}
   */
  public TgbBuilder origin(String origin) {
    int lengthBytes = origin.getBytes(StandardCharsets.UTF_8).length;
    if (lengthBytes > Limits.ORIGIN_BYTES) {
      throw new BatchWeaveException(
          Kind.LIMIT,
          "origin too long: lengthBytes="
              + lengthBytes
              + " limit="
              + Limits.ORIGIN_BYTES
              + "; shorten it");
    }
    this.origin = origin;
    return this;
  }

  /**
   * Makes the TGB.
   *
   * @throws BatchWeaveException {@link Kind#CONFIG} naming the missing slices, or the coordinates
   *     whose micro-batches differ
   */
  public Tgb build() {
    if (built) {
      throw new IllegalStateException("a builder makes one TGB");
    }
    List<SliceEntry> slices = new ArrayList<>(entries.length);
    for (int i = 0; i < entries.length; i++) {
      SliceEntry entry = entries[i];
      if (entry == null) {
        throw missing();
      }
      slices.add(entry);
    }
    requireEqualMicroBatches(slices);
    built = true;
    List<SliceEntry> placed = TgbLayout.place(0, slices);
    TgbLayout.Tail tail = TgbLayout.tail(grid, placed, origin);
    return new Tgb(grid, placed, tail, payload(placed, tail), origin);
  }

  private Payload payload(List<SliceEntry> placed, TgbLayout.Tail tail) {
    List<Payload> parts = new ArrayList<>(2 * payloads.length);
    long end = 0;
    for (int i = 0; i < payloads.length; i++) {
      int paddingBytes = (int) (placed.get(i).offset() - end);
      if (paddingBytes > 0) {
        parts.add(Payload.of(Bytes.wrap(new byte[paddingBytes])));
      }
      Payload part = payloads[i];
      if (part == null) {
        throw missing();
      }
      parts.add(part);
      end = placed.get(i).offset() + placed.get(i).lengthBytes();
    }
    parts.add(Payload.of(tail.bytes()));
    return Payload.concat(parts);
  }

  private BatchWeaveException missing() {
    long count = Arrays.stream(entries).filter(entry -> entry == null).count();
    List<String> first = new ArrayList<>();
    for (int i = 0; i < entries.length && first.size() < 8; i++) {
      if (entries[i] == null) {
        first.add("(dp=" + i / grid.cp() + " cp=" + i % grid.cp() + ")");
      }
    }
    return new BatchWeaveException(
        Kind.CONFIG,
        "TGB incomplete: missing="
            + count
            + " of="
            + entries.length
            + " first="
            + first
            + "; give every slice of the grid");
  }

  private void requireEqualMicroBatches(List<SliceEntry> slices) {
    int expected = slices.getFirst().microBatches();
    for (int i = 0; i < slices.size(); i++) {
      int actual = slices.get(i).microBatches();
      if (actual != expected) {
        throw refused(
            i / grid.cp(),
            i % grid.cp(),
            "microBatches="
                + actual
                + " but the slice of dp=0 cp=0 has "
                + expected
                + "; all slices of a TGB have the same number");
      }
    }
  }

  private static void requireLimits(int dp, int cp, long lengthBytes, long count) {
    if (lengthBytes > Limits.SLICE_BYTES || count > Limits.SLICE_COUNT) {
      throw new BatchWeaveException(
          Kind.LIMIT,
          "slice too large: dp="
              + dp
              + " cp="
              + cp
              + " lengthBytes="
              + lengthBytes
              + " limit="
              + Limits.SLICE_BYTES
              + " samplesOrTokens="
              + count
              + " limit="
              + Limits.SLICE_COUNT
              + "; cut smaller batches");
    }
  }

  private static int crc32c(int dp, int cp, Payload bytes) {
    CRC32C crc = new CRC32C();
    try {
      bytes.addTo(crc);
    } catch (IOException e) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "slice cannot be read: dp=" + dp + " cp=" + cp + " reason=" + e.getMessage(),
          e);
    }
    return (int) crc.getValue();
  }

  private static BatchWeaveException refused(int dp, int cp, String why) {
    return new BatchWeaveException(
        Kind.CONFIG, "slice refused: dp=" + dp + " cp=" + cp + ": " + why);
  }
}
