package io.batchweave.ingest;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Dtype;
import io.batchweave.format.Grid;
import io.batchweave.format.Limits;
import io.batchweave.format.Safetensors;
import io.batchweave.ingest.TokenReader.Extent;
import io.batchweave.produce.Tgb;
import io.batchweave.produce.TgbBuilder;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;

/**
 * Cuts a global batch of tokens, sequence after sequence, into the slices of a grid and puts it
 * together again: dp cuts the sequences, cp cuts each sequence.
 */
final class SliceCutter {
  private final Grid grid;
  private final int globalBatch;
  private final int sequenceLength;
  private final int microBatches;
  private final Safetensors.Header header;

  /**
   * Checks that everything divides.
   *
   * @throws BatchWeaveException CONFIG naming what does not divide what
   */
  SliceCutter(Grid grid, int globalBatch, int sequenceLength, int microBatches) {
    if (globalBatch % grid.dp() != 0) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "dp does not divide the global batch: globalBatch="
              + globalBatch
              + " dp="
              + grid.dp()
              + "; use a multiple of "
              + grid.dp());
    }
    if (sequenceLength % grid.cp() != 0) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "cp does not divide the sequence: seqLen="
              + sequenceLength
              + " cp="
              + grid.cp()
              + "; use a multiple of "
              + grid.cp());
    }
    if (globalBatch / grid.dp() % microBatches != 0) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "micro-batches do not divide the sequences of a slice: microBatches="
              + microBatches
              + " sequences="
              + globalBatch / grid.dp());
    }
    this.grid = grid;
    this.globalBatch = globalBatch;
    this.sequenceLength = sequenceLength;
    this.microBatches = microBatches;
    this.header =
        Safetensors.layout(
            List.of(
                new Safetensors.Spec(
                    ByteTokens.TENSOR,
                    Dtype.I32,
                    List.of((long) globalBatch / grid.dp(), (long) sequenceLength / grid.cp()))),
            Collections.emptySortedMap());
  }

  int rows() {
    return globalBatch / grid.dp();
  }

  int columns() {
    return sequenceLength / grid.cp();
  }

  /** Sequences with a token that is no padding, of a batch whose padding stands at its end. */
  long samples(int tokenCount) {
    return (tokenCount + sequenceLength - 1L) / sequenceLength;
  }

  /**
   * Cuts.
   *
   * @param tokens the batch, padding included
   * @param tokenCount how many are no padding; they come first
   */
  Tgb cut(int[] tokens, int tokenCount, String origin) {
    TgbBuilder builder = new TgbBuilder(grid);
    for (int dp = 0; dp < grid.dp(); dp++) {
      long before = Math.min(samples(tokenCount), (long) dp * rows());
      long samples = Math.min(samples(tokenCount) - before, rows());
      for (int cp = 0; cp < grid.cp(); cp++) {
        byte[] slice = slice(tokens, dp, cp);
        long count = count(tokenCount, dp, cp);
        builder.slice(dp, cp, Bytes.wrap(slice), microBatches, samples, count);
      }
    }
    return builder.origin(origin).build();
  }

  private byte[] slice(int[] tokens, int dp, int cp) {
    ByteBuffer slice =
        ByteBuffer.allocate(Math.toIntExact(header.lengthBytes())).order(ByteOrder.LITTLE_ENDIAN);
    slice.put(header.bytes().asByteBuffer());
    for (int row = 0; row < rows(); row++) {
      int from = (dp * rows() + row) * sequenceLength + cp * columns();
      slice.asIntBuffer().put(tokens, from, columns());
      slice.position(slice.position() + columns() * Integer.BYTES);
    }
    return slice.array();
  }

  private long count(int tokenCount, int dp, int cp) {
    long count = 0;
    for (int row = 0; row < rows(); row++) {
      int from = (dp * rows() + row) * sequenceLength + cp * columns();
      count += Math.clamp((long) tokenCount - from, 0, columns());
    }
    return count;
  }

  /**
   * Puts a batch together again.
   *
   * @param slices in grid order
   * @throws BatchWeaveException CORRUPT if they are not slices of an ingest
   */
  static int[] join(String object, Grid grid, List<Bytes> slices) {
    Safetensors.Tensor first = tensor(object, slices.getFirst());
    int rows = first.shape().getFirst().intValue();
    int columns = first.shape().getLast().intValue();
    int sequenceLength = columns * grid.cp();
    int[] tokens = new int[rows * grid.dp() * sequenceLength];
    for (int dp = 0; dp < grid.dp(); dp++) {
      for (int cp = 0; cp < grid.cp(); cp++) {
        Bytes slice = slices.get(grid.sliceIndex(dp, cp));
        Safetensors.Tensor tensor = tensor(object, slice);
        if (!tensor.shape().equals(first.shape())) {
          throw corrupt(object, "slices differ in shape");
        }
        ByteBuffer data = slice.asByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
        for (int row = 0; row < rows; row++) {
          int to = (dp * rows + row) * sequenceLength + cp * columns;
          data.position((int) tensor.offset() + row * columns * Integer.BYTES)
              .slice()
              .order(ByteOrder.LITTLE_ENDIAN)
              .asIntBuffer()
              .get(tokens, to, columns);
        }
      }
    }
    return tokens;
  }

  private static Safetensors.Tensor tensor(String object, Bytes slice) {
    Safetensors.Header header = Safetensors.read(object, slice, slice.length());
    Safetensors.Tensor tensor = header.tensors().isEmpty() ? null : header.tensors().getFirst();
    if (tensor == null
        || header.tensors().size() != 1
        || !tensor.name().equals(ByteTokens.TENSOR)
        || tensor.dtype() != Dtype.I32
        || tensor.shape().size() != 2) {
      throw corrupt(object, "not one int32 tensor '" + ByteTokens.TENSOR + "' of two dimensions");
    }
    return tensor;
  }

  private static BatchWeaveException corrupt(String object, String what) {
    return new BatchWeaveException(
        Kind.CORRUPT, "not a batch of an ingest: object=" + object + ": " + what);
  }

  /** Says where a batch came from, within the limit of an origin. */
  static String origin(List<Extent> extents) {
    if (extents.isEmpty()) {
      return "";
    }
    Extent first = extents.getFirst();
    Extent last = extents.getLast();
    if (extents.size() == 1) {
      return place(first, Limits.ORIGIN_BYTES);
    }
    String between = extents.size() == 2 ? ", " : ", " + (extents.size() - 2) + " more, ";
    int each = (Limits.ORIGIN_BYTES - between.length()) / 2;
    return place(first, each) + between + place(last, each);
  }

  private static String place(Extent extent, int limitBytes) {
    String range = ":" + extent.from() + "-" + extent.to();
    String path = extent.path();
    int start = 0;
    while ((start > 0 ? "…" + path.substring(start) + range : path + range)
            .getBytes(StandardCharsets.UTF_8)
            .length
        > limitBytes) {
      start = path.offsetByCodePoints(start, 1);
    }
    return start > 0 ? "…" + path.substring(start) + range : path + range;
  }
}
