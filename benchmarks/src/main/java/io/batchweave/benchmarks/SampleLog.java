package io.batchweave.benchmarks;

import io.batchweave.Bytes;
import io.batchweave.format.Block;
import io.batchweave.format.DataObject;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ManifestVersion;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SliceEntry;
import io.batchweave.format.SourceState;
import io.batchweave.format.TgbEntry;
import io.batchweave.format.VersionHeader;
import io.batchweave.log.Bits;
import io.batchweave.log.Fold;
import io.batchweave.log.ProducerState;
import io.batchweave.log.State;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * The log of 64 producers that commit together: each version has a block of each, each block one
 * batch of eight slices and 64 bytes of source state.
 */
final class SampleLog {
  static final int PRODUCERS = 64;

  private static final UUID STREAM = new UUID(1, 2);
  private static final int SLICES = 8;
  private static final long SLICE_BYTES = 1 << 20;
  private static final int SOURCE_STATE_BYTES = 64;

  private final Bits bits = new Bits(1);
  private final State state = State.empty(STREAM);
  private long nextSeq = ProducerState.FIRST_SEQ;

  /** Begins with the fences of all producers. */
  SampleLog() {
    List<Block> fences = new ArrayList<>();
    for (int i = 0; i < PRODUCERS; i++) {
      fences.add(new Block.Fence(producer(i), 1, bits.nextId()));
    }
    Bytes bytes = Bytes.wrap(ManifestCodec.encode(header(), fences));
    Fold.apply(state, ManifestCodec.decode(ObjectNames.version(1), bytes));
  }

  private static String producer(int index) {
    return "producer-" + index;
  }

  /** The state after everything so far; a copy. */
  State state() {
    return state.copy();
  }

  /** The header of the next version. */
  VersionHeader header() {
    return state.nextHeader(bits.nextId(), 0, 100);
  }

  /** The next block of every producer. */
  List<Block> blocks() {
    List<Block> blocks = new ArrayList<>();
    for (int i = 0; i < PRODUCERS; i++) {
      DataObject object = new DataObject(producer(i), 1, nextSeq, nextSeq, bits.nextLong());
      List<SliceEntry> slices = new ArrayList<>();
      for (int slice = 0; slice < SLICES; slice++) {
        slices.add(
            new SliceEntry(slice * SLICE_BYTES, SLICE_BYTES, (int) bits.nextLong(), 1, 8, 8192));
      }
      long footer = SLICES * SLICE_BYTES;
      TgbEntry entry = new TgbEntry(object, nextSeq, 0, footer + 1024, 960, 7, slices);
      byte[] source = new byte[SOURCE_STATE_BYTES];
      blocks.add(
          new Block.Produce(
              producer(i), 1, nextSeq, List.of(entry), new SourceState.Inline(Bytes.wrap(source))));
    }
    return blocks;
  }

  /** Encodes the next version and folds it here. */
  ManifestVersion next() {
    Bytes bytes = Bytes.wrap(ManifestCodec.encode(header(), blocks()));
    ManifestVersion version = ManifestCodec.decode(ObjectNames.version(state.version() + 1), bytes);
    if (Fold.apply(state, version).isVoid() || !state.counters().isEmpty()) {
      throw new IllegalStateException("the log was not made as the fold wants it");
    }
    nextSeq++;
    return version;
  }
}
