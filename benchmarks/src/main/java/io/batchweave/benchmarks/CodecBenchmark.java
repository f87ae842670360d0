package io.batchweave.benchmarks;

import io.batchweave.Bytes;
import io.batchweave.format.Block;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ManifestVersion;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.VersionHeader;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/**
 * Question: what does it cost to write and to read a manifest version of 64 blocks with 512 slices?
 *
 * <p>Ceiling: the digests that the format demands, CRC32C and SHA-256 of the same bytes.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class CodecBenchmark {
  private final VersionHeader header;
  private final List<Block> blocks;
  private final byte[] encoded;
  private final Bytes object;

  /** Makes the version. */
  public CodecBenchmark() {
    SampleLog log = new SampleLog();
    header = log.header();
    blocks = log.blocks();
    encoded = ManifestCodec.encode(header, blocks);
    object = Bytes.copyOf(encoded);
  }

  static Bar bar() {
    return new JmhBar(
        "codec",
        "a manifest version of 64 blocks from bytes to records; the way back is shown",
        CodecBenchmark.class,
        results ->
            Verdict.reported(
                "codec", results.score("decode", ""), "us/version", results.score("digests", "")));
  }

  /** Records to bytes. */
  @Benchmark
  public byte[] encode() {
    return ManifestCodec.encode(header, blocks);
  }

  /** Bytes to records. */
  @Benchmark
  public ManifestVersion decode() {
    return ManifestCodec.decode(ObjectNames.version(header.version()), object);
  }

  /** The ceiling. */
  @Benchmark
  public long digests() throws NoSuchAlgorithmException {
    CRC32C crc = new CRC32C();
    crc.update(encoded);
    return crc.getValue() + MessageDigest.getInstance("SHA-256").digest(encoded)[0];
  }
}
