package io.batchweave.format;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.batchweave.Bytes;
import io.batchweave.format.Safetensors.Header;
import io.batchweave.format.Safetensors.Spec;
import io.batchweave.format.Safetensors.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The public safetensors library reads what is written here, and the other way round. */
@Timeout(120)
class SafetensorsPythonTest {
  private static final List<Spec> SPECS =
      List.of(
          new Spec("tokens", Dtype.I32, List.of(2L, 8L)),
          new Spec("scalar", Dtype.F64, List.of()),
          new Spec("mask", Dtype.BOOL, List.of(3L)),
          new Spec("none", Dtype.I64, List.of(0L, 4L)),
          new Spec("Ümläut \"x\"", Dtype.U8, List.of(5L)));

  @TempDir private Path directory;

  @Test
  void shouldBeReadByThePublicLibrary() throws IOException, InterruptedException {
    assumePython("import safetensors.numpy, numpy");
    TreeMap<String, String> metadata = new TreeMap<>(Map.of("origin", "a.txt:0-5"));
    Header header = Safetensors.layout(SPECS, metadata);
    ByteArrayOutputStream file = new ByteArrayOutputStream();
    file.writeBytes(header.bytes().toByteArray());
    for (Tensor tensor : header.tensors()) {
      for (long i = 0; i < tensor.lengthBytes(); i++) {
        file.write(tensor.dtype() == Dtype.BOOL ? (int) i & 1 : (int) (tensor.offset() + i));
      }
    }
    Path path = directory.resolve("written.safetensors");
    Files.write(path, file.toByteArray());
    String seen =
        python(
            """
            import sys, safetensors
            raw = open(sys.argv[1], 'rb').read()
            with safetensors.safe_open(sys.argv[1], 'np') as f:
                print(sorted(f.metadata().items()))
                for name in sorted(f.keys()):
                    t = f.get_tensor(name)
                    at = raw.find(t.tobytes()) if t.nbytes else -1
                    print(ascii(name), t.dtype, t.shape, t.nbytes, at % t.itemsize if t.nbytes else 0)
            """,
            path);
    assertEquals(
        """
        [('origin', 'a.txt:0-5')]
        'mask' bool (3,) 3 0
        'none' int64 (0, 4) 0 0
        'scalar' float64 () 8 0
        'tokens' int32 (2, 8) 64 0
        '\\xdcml\\xe4ut "x"' uint8 (5,) 5 0
        """,
        seen);
  }

  @Test
  void shouldReadWhatThePublicLibraryWrites() throws IOException, InterruptedException {
    assumePython("import safetensors.numpy, numpy");
    Path path = directory.resolve("public.safetensors");
    python(
        """
        import sys, numpy as np
        from safetensors.numpy import save_file
        save_file({'a': np.arange(6, dtype=np.int32).reshape(2, 3), 'b': np.array(1.5),
                   'c': np.zeros((0, 3), np.float16)}, sys.argv[1], metadata={'k': 'v'})
        """,
        path);
    byte[] bytes = Files.readAllBytes(path);
    Header header = Safetensors.read("public", Bytes.wrap(bytes), bytes.length);
    Map<String, List<Long>> shapes = new TreeMap<>();
    header.tensors().forEach(tensor -> shapes.put(tensor.name(), tensor.shape()));
    assertEquals(Map.of("a", List.of(2L, 3L), "b", List.of(), "c", List.of(0L, 3L)), shapes);
    assertEquals(Map.of("k", "v"), header.metadata());
  }

  private static void assumePython(String imports) throws InterruptedException {
    try {
      Process process = start(imports, Path.of("."));
      process.getInputStream().readAllBytes();
      assumeTrue(process.waitFor() == 0, "needs a Python where this works: " + imports);
    } catch (IOException e) {
      assumeTrue(false, "needs Python: " + e.getMessage());
    }
  }

  private static String python(String script, Path argument)
      throws IOException, InterruptedException {
    Process process = start(script, argument);
    String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(process.waitFor(60, TimeUnit.SECONDS), "Python hangs");
    assertEquals(0, process.exitValue(), out);
    return out;
  }

  private static Process start(String script, Path argument) throws IOException {
    String python = System.getenv().getOrDefault("BATCHWEAVE_PYTHON", "python3");
    return new ProcessBuilder(python, "-c", script, argument.toString())
        .redirectErrorStream(true)
        .start();
  }
}
