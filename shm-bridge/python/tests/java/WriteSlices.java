import io.batchweave.format.Dtype;
import io.batchweave.format.Safetensors;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Writes safetensors slices as a producer does: one file per dtype and one of all. */
public final class WriteSlices {
  private static final List<List<Long>> SHAPES =
      List.of(List.of(), List.of(0L), List.of(5L), List.of(2L, 0L, 3L), List.of(2L, 3L, 4L));

  private WriteSlices() {}

  public static void main(String[] arguments) throws Exception {
    Path folder = Path.of(arguments[0]);
    List<Safetensors.Spec> all = new ArrayList<>();
    for (Dtype dtype : Dtype.values()) {
      if (dtype.bits() % 8 != 0) {
        continue;
      }
      List<Safetensors.Spec> specs = new ArrayList<>();
      for (int i = 0; i < SHAPES.size(); i++) {
        specs.add(new Safetensors.Spec(dtype + "." + i, dtype, SHAPES.get(i)));
      }
      all.addAll(specs);
      write(folder.resolve(dtype + ".safetensors"), specs);
    }
    write(folder.resolve("all.safetensors"), all);
  }

  /** Byte i of a tensor's data is (i + the length of its name) mod 2, which every dtype can hold. */
  private static void write(Path file, List<Safetensors.Spec> specs) throws Exception {
    Map<String, String> metadata = Map.of("origin", "a \"name\" \u00e9\n");
    Safetensors.Header header = Safetensors.layout(specs, new TreeMap<>(metadata));
    try (OutputStream out = Files.newOutputStream(file)) {
      out.write(header.bytes().toByteArray());
      for (Safetensors.Tensor tensor : header.tensors()) {
        byte[] data = new byte[Math.toIntExact(tensor.lengthBytes())];
        for (int i = 0; i < data.length; i++) {
          data[i] = (byte) (i + tensor.name().length() & 1);
        }
        out.write(data);
      }
    }
  }
}
