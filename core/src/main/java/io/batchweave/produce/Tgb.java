package io.batchweave.produce;

import io.batchweave.format.DataObject;
import io.batchweave.format.Grid;
import io.batchweave.format.SliceEntry;
import io.batchweave.format.TgbEntry;
import io.batchweave.format.TgbLayout;
import io.batchweave.store.Payload;
import java.util.List;

/**
 * A complete Transactional Global Batch, ready to be added to a producer: the bytes of every slice
 * and what follows them. Made by {@link TgbBuilder}; immutable, as long as nobody changes the bytes
 * behind the payloads.
 */
public final class Tgb {
  private final Grid grid;
  private final List<SliceEntry> slices;
  private final TgbLayout.Tail tail;
  private final Payload payload;
  private final String origin;

  Tgb(Grid grid, List<SliceEntry> slices, TgbLayout.Tail tail, Payload payload, String origin) {
    this.grid = grid;
    this.slices = List.copyOf(slices);
    this.tail = tail;
    this.payload = payload;
    this.origin = origin;
  }

  /** What the TGB is cut for. */
  public Grid grid() {
    return grid;
  }

  /** The slices in grid order, offsets counted from the start of the TGB. */
  public List<SliceEntry> slices() {
    return slices;
  }

  /** The whole TGB: slices, padding, footer and trailer. */
  public Payload payload() {
    return payload;
  }

  /** Length of the whole TGB, bytes; what back-pressure counts. */
  public long lengthBytes() {
    return tail.lengthBytes();
  }

  /** Where the data came from, for people. */
  public String origin() {
    return origin;
  }

  /**
   * The manifest entry of this TGB, alone in a data object.
   *
   * @param object the data object
   * @param seq the TGB's seq
   */
  public TgbEntry entry(DataObject object, long seq) {
    return entry(object, seq, 0);
  }

  /**
   * The manifest entry of this TGB, one of several in a data object.
   *
   * @param object the data object
   * @param seq the TGB's seq
   * @param offset its first byte in the object, a multiple of {@link TgbLayout#ALIGNMENT}
   */
  public TgbEntry entry(DataObject object, long seq, long offset) {
    return TgbLayout.entry(object, seq, offset, slices, tail);
  }
}
