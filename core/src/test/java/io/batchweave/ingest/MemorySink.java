package io.batchweave.ingest;

import io.batchweave.Bytes;
import io.batchweave.format.Grid;
import io.batchweave.format.SliceEntry;
import io.batchweave.produce.Tgb;
import io.batchweave.store.Payload;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A producer in memory that crashes when told, losing what is not committed. */
final class MemorySink implements BatchSink {
  /** The crash. */
  static final class Killed extends RuntimeException {
    private static final long serialVersionUID = 1L;
  }

  private final Grid grid;
  private final List<Tgb> batches = new ArrayList<>();
  private final List<Bytes> states = new ArrayList<>();
  private int crashAfter = Integer.MAX_VALUE;

  MemorySink(Grid grid) {
    this.grid = grid;
  }

  /** Lets the next incarnation die when it adds the batch after so many. */
  void crashAfter(int batches) {
    crashAfter = batches;
  }

  /** Forgets what was added but not committed. */
  void keep(int committed) {
    batches.subList(committed, batches.size()).clear();
    states.subList(committed, states.size()).clear();
  }

  List<Tgb> batches() {
    return batches;
  }

  List<Bytes> states() {
    return states;
  }

  /** The whole TGBs, as they would lie in data objects. */
  List<Bytes> payloads() {
    return batches.stream().map(tgb -> bytes(tgb.payload())).toList();
  }

  /** The slices of a batch. */
  List<Bytes> slices(int batch) {
    byte[] tgb = bytes(batches.get(batch).payload()).toByteArray();
    List<Bytes> slices = new ArrayList<>();
    for (SliceEntry slice : batches.get(batch).slices()) {
      int from = (int) slice.offset();
      slices.add(Bytes.wrap(Arrays.copyOfRange(tgb, from, from + (int) slice.lengthBytes())));
    }
    return slices;
  }

  /** All tokens that are no padding. */
  List<Integer> tokens() {
    List<Integer> tokens = new ArrayList<>();
    for (int i = 0; i < batches.size(); i++) {
      for (int token : SliceCutter.join("batch " + i, grid, slices(i))) {
        if (token != ByteTokens.PADDING) {
          tokens.add(token);
        }
      }
    }
    return tokens;
  }

  private static Bytes bytes(Payload payload) {
    ByteBuffer all = ByteBuffer.allocate((int) payload.lengthBytes());
    try (Payload.Reader reader = payload.open()) {
      while (!reader.read(all)) {
        Thread.onSpinWait();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return Bytes.wrap(all.array());
  }

  @Override
  public Grid grid() {
    return grid;
  }

  @Override
  public Bytes sourceState() {
    return states.isEmpty() ? Bytes.EMPTY : states.getLast();
  }

  @Override
  public long add(Tgb tgb, Bytes sourceState) {
    if (crashAfter == 0) {
      crashAfter = Integer.MAX_VALUE;
      throw new Killed();
    }
    crashAfter--;
    batches.add(tgb);
    states.add(sourceState);
    return batches.size();
  }
}
