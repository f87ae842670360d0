package io.batchweave.demo;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.bridge.memory.MappedChecksum;
import io.batchweave.bridge.rank.RankClient;
import io.batchweave.bridge.rank.StepLease;
import io.batchweave.format.Dtype;
import io.batchweave.format.Safetensors;
import java.io.Closeable;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.Writer;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.channels.Channels;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.agrona.concurrent.NanoClock;

/**
 * A rank that reads every step, compares the checksum of each of its slices with the bytes it maps,
 * and writes one line for each finished step. One thread uses it.
 */
public final class ReportingRank implements Closeable {
  private static final ValueLayout.OfInt INT32 =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private final RankClient client;
  private final Writer report;
  private final NanoClock clock;
  private final MappedChecksum checksum = new MappedChecksum();

  /**
   * Reports to a writer.
   *
   * @param client the attached rank; closed with this
   * @param report takes the lines, flushed after each; closed with this
   * @param clock measures the waits
   */
  public ReportingRank(RankClient client, Writer report, NanoClock clock) {
    this.client = client;
    this.report = report;
    this.clock = clock;
  }

  /**
   * Opens a report for appending, behind its last complete line: what a crash left of a line is cut
   * off.
   *
   * @param file the report
   * @throws IOException if it cannot be written
   */
  @SuppressWarnings("resource") // The channel's writer closes the file.
  public static Writer append(Path file) throws IOException {
    RandomAccessFile opened = new RandomAccessFile(file.toFile(), "rw");
    long end = opened.length();
    while (end > 0) {
      opened.seek(end - 1);
      if (opened.read() == '\n') {
        break;
      }
      end--;
    }
    opened.setLength(end);
    opened.seek(end);
    return Channels.newWriter(opened.getChannel(), StandardCharsets.UTF_8);
  }

  /**
   * Reads to the end of the stream, or so many steps.
   *
   * @param timeoutNs longest wait for a step
   * @param maxSteps the most steps to read
   * @return steps read
   * @throws IOException if the report cannot be written
   * @throws BatchWeaveException CORRUPT if a slice's bytes do not match its checksum; or as the
   *     client
   */
  public long run(long timeoutNs, long maxSteps) throws IOException {
    long steps = 0;
    while (steps < maxSteps) {
      long began = clock.nanoTime();
      StepLease lease = client.next(timeoutNs);
      if (lease == null) {
        break;
      }
      RankReport.Line line = line(lease, clock.nanoTime() - began);
      lease.release();
      report.write(line.text());
      report.flush();
      steps++;
    }
    return steps;
  }

  private RankReport.Line line(StepLease lease, long waitNanos) {
    try {
      List<Integer> checksums = new ArrayList<>();
      long bytes = 0;
      long samples = 0;
      long tokens = 0;
      long tokenSum = 0;
      for (int i = 0; i < lease.ownSliceCount(); i++) {
        int slice = lease.ownSlice(i);
        check(lease, slice);
        checksums.add(lease.crc32c(slice));
        bytes += lease.sliceLengthBytes(slice);
        samples += lease.samples(slice);
        tokens += lease.tokens(slice);
        tokenSum += sumOfInt32(lease.step(), lease.slice(slice));
      }
      return new RankReport.Line(
          lease.step(), bytes, checksums, samples, tokens, tokenSum, waitNanos);
    } catch (InternalError gone) {
      throw new BatchWeaveException(
          Kind.RETRYABLE,
          "the ring's file was cut short under this rank: step="
              + lease.step()
              + "; start daemon and ranks again",
          gone);
    }
  }

  private void check(StepLease lease, int slice) {
    int found =
        checksum.crc32c(lease.data(), lease.sliceOffset(slice), lease.sliceLengthBytes(slice));
    if (found != lease.crc32c(slice)) {
      throw new BatchWeaveException(
          Kind.CORRUPT,
          "the ring holds other bytes than were committed: step="
              + lease.step()
              + " dp="
              + lease.dp(slice)
              + " cp="
              + lease.cp(slice)
              + " crc32c="
              + Integer.toHexString(found)
              + " expected="
              + Integer.toHexString(lease.crc32c(slice))
              + "; report it");
    }
  }

  /** Sum of all elements of the int32 tensors of a slice; 0 for a slice of raw bytes. */
  static long sumOfInt32(long step, MemorySegment slice) {
    Safetensors.Header header;
    try {
      String name = "step " + step;
      Bytes prefix = head(slice, Math.min(slice.byteSize(), Long.BYTES));
      int headerBytes = Safetensors.headerBytes(name, prefix, slice.byteSize());
      header = Safetensors.read(name, head(slice, headerBytes), slice.byteSize());
    } catch (BatchWeaveException e) {
      return 0;
    }
    long sum = 0;
    for (Safetensors.Tensor tensor : header.tensors()) {
      if (tensor.dtype() == Dtype.I32) {
        MemorySegment data = slice.asSlice(tensor.offset(), tensor.lengthBytes());
        for (long at = 0; at < data.byteSize(); at += Integer.BYTES) {
          sum += data.get(INT32, at);
        }
      }
    }
    return sum;
  }

  private static Bytes head(MemorySegment slice, long lengthBytes) {
    return Bytes.wrap(slice.asSlice(0, lengthBytes).toArray(ValueLayout.JAVA_BYTE));
  }

  @Override
  public void close() throws IOException {
    try {
      client.close();
    } finally {
      report.close();
    }
  }
}
