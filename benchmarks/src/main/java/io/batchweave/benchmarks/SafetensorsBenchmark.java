package io.batchweave.benchmarks;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import io.batchweave.Bytes;
import io.batchweave.format.Dtype;
import io.batchweave.format.Safetensors;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/**
 * Question: what does it cost to read and check the header of a slice with ten tensors?
 *
 * <p>Ceiling: Jackson's token stream over the same JSON, nothing kept.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class SafetensorsBenchmark {
  private static final int TENSORS = 10;
  private static final int PREFIX_BYTES = 8;

  private final JsonFactory json = new JsonFactory();
  private final Safetensors.Header written;
  private final byte[] bytes;

  /** Makes the header. */
  public SafetensorsBenchmark() {
    List<Safetensors.Spec> specs = new ArrayList<>();
    for (int i = 0; i < TENSORS; i++) {
      specs.add(new Safetensors.Spec("tensor-" + i, Dtype.I32, List.of(8L, 4096L)));
    }
    written = Safetensors.layout(specs, new TreeMap<>());
    bytes = written.bytes().toByteArray();
  }

  static Bar bar() {
    return new JmhBar(
        "safetensors-header",
        "header of a slice with ten tensors, read and checked",
        SafetensorsBenchmark.class,
        results ->
            Verdict.reported(
                "safetensors-header",
                results.score("read", ""),
                "us/header",
                results.score("tokens", "")));
  }

  /** The reader. */
  @Benchmark
  public Safetensors.Header read() {
    return Safetensors.read("slice", Bytes.wrap(bytes), written.lengthBytes());
  }

  /** The ceiling. */
  @Benchmark
  public int tokens() throws IOException {
    int tokens = 0;
    try (JsonParser parser = json.createParser(bytes, PREFIX_BYTES, bytes.length - PREFIX_BYTES)) {
      while (parser.nextToken() != null) {
        tokens++;
      }
    }
    return tokens;
  }
}
