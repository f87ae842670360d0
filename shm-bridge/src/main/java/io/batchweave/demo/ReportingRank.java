package io.batchweave.demo;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.bridge.rank.RankClient;
import io.batchweave.bridge.rank.StepLease;
import io.batchweave.bridge.ring.Coordinate;
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
import java.util.List;
import java.util.zip.CRC32C;
import org.agrona.concurrent.NanoClock;

/**
 * A rank that reads every step, compares each slice's checksum with the bytes it maps, and writes
 * one line for each finished step. One thread uses it.
 */
public final class ReportingRank implements Closeable {
  private static final ValueLayout.OfInt INT32 =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private final RankClient client;
  private final Coordinate place;
  private final Writer report;
  private final NanoClock clock;

  /**
   * Reports to a writer.
   *
   * @param client the attached rank; closed with this
   * @param place where the rank stands in the stream's grid
   * @param report takes the lines, flushed after each; closed with this
   * @param clock measures the waits
   */
  public ReportingRank(RankClient client, Coordinate place, Writer report, NanoClock clock) {
    this.client = client;
    this.place = place;
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
    int own = lease.find(place.dp(), place.cp());
    if (own < 0) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "the step has no slice for this rank: step="
              + lease.step()
              + " dp="
              + place.dp()
              + " cp="
              + place.cp()
              + "; give the sizes of the stream's grid");
    }
    MemorySegment slice = lease.slice(own);
    CRC32C crc = new CRC32C();
    crc.update(slice.asByteBuffer());
    if ((int) crc.getValue() != lease.crc32c(own)) {
      throw new BatchWeaveException(
          Kind.CORRUPT,
          "the ring holds other bytes than were committed: step="
              + lease.step()
              + " dp="
              + place.dp()
              + " cp="
              + place.cp()
              + " crc32c="
              + Long.toHexString(crc.getValue())
              + "; report it");
    }
    return new RankReport.Line(
        lease.step(),
        slice.byteSize(),
        List.of(lease.crc32c(own)),
        lease.samples(own),
        lease.tokens(own),
        sumOfInt32(lease.step(), slice),
        waitNanos);
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
