package io.batchweave.benchmarks;

import io.batchweave.Bytes;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SnapshotCodec;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/**
 * Question: what does it cost to begin from a snapshot that is there, bytes to a state that the
 * fold can go on with, and to write one? 64 producers, and an unfinished segment of 192 batches
 * with 1,536 slices. What a store adds is in {@code flatness}.
 *
 * <p>Ceiling: the digests that the format demands, CRC32C and SHA-256 of the same bytes.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class SnapshotBenchmark {
  private static final int VERSIONS = 3;

  private final io.batchweave.log.State state;
  private final byte[] encoded;
  private final Bytes object;
  private final String key;

  /** Makes the snapshot. */
  public SnapshotBenchmark() {
    SampleLog log = new SampleLog();
    for (int i = 0; i < VERSIONS; i++) {
      log.next();
    }
    state = log.state();
    encoded = SnapshotCodec.encode(state.toRecord());
    object = Bytes.copyOf(encoded);
    key = ObjectNames.snapshot(state.version());
  }

  static Bar bar() {
    return new JmhBar(
        "snapshot-open",
        "a snapshot of 64 producers and 192 batches from bytes to a state; the way back is shown",
        SnapshotBenchmark.class,
        results ->
            Verdict.reported(
                "snapshot-open",
                results.score("open", ""),
                "us/snapshot",
                results.score("digests", "")));
  }

  /** Bytes to a state. */
  @Benchmark
  public io.batchweave.log.State open() {
    return io.batchweave.log.State.of(SnapshotCodec.decode(key, object));
  }

  /** A state to bytes. */
  @Benchmark
  public byte[] write() {
    return SnapshotCodec.encode(state.toRecord());
  }

  /** The ceiling. */
  @Benchmark
  public long digests() throws NoSuchAlgorithmException {
    CRC32C crc = new CRC32C();
    crc.update(encoded);
    return crc.getValue() + MessageDigest.getInstance("SHA-256").digest(encoded)[0];
  }
}
