import io.batchweave.Bytes;
import io.batchweave.client.Operator;
import io.batchweave.client.OperatorContext;
import io.batchweave.client.Producer;
import io.batchweave.client.ProducerContext;
import io.batchweave.client.Streams;
import io.batchweave.format.Dtype;
import io.batchweave.format.Grid;
import io.batchweave.format.Safetensors;
import io.batchweave.produce.TgbBuilder;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * Writes steps into a stream: {@code URL dp cp firstStep steps lengths [seal]}. Each slice holds {@code
 * tokens} I32 [lengths[step mod n]], all of them {@code step * 10000 + dp * 100 + cp}, {@code step}
 * I64 [], and {@code ids} U8 [3] = {dp, cp, step mod 256}.
 */
public final class WriteStream {
  private WriteStream() {}

  public static void main(String[] arguments) throws Exception {
    Grid grid = new Grid(Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]));
    int first = Integer.parseInt(arguments[3]);
    int steps = Integer.parseInt(arguments[4]);
    String[] lengths = arguments[5].split(",");
    try (ObjectStore store = Stores.open(arguments[0], System.getenv())) {
      Streams.create(store, grid);
      ProducerContext context = new ProducerContext().store(store).producerId("writer");
      try (Producer producer = Producer.open(context)) {
        for (int step = first; step < first + steps; step++) {
          TgbBuilder builder = new TgbBuilder(grid).origin("step " + step);
          int length = Integer.parseInt(lengths[step % lengths.length]);
          for (int dp = 0; dp < grid.dp(); dp++) {
            for (int cp = 0; cp < grid.cp(); cp++) {
              builder.slice(dp, cp, slice(step, dp, cp, length), 1, length, 2L * length);
            }
          }
          producer.add(builder.build(), Bytes.wrap(new byte[] {(byte) step}));
        }
        producer.flush(TimeUnit.SECONDS.toNanos(60));
      }
      if (arguments.length > 6) {
        try (Operator operator = Operator.open(new OperatorContext().store(store))) {
          operator.seal();
        }
      }
    }
    System.out.println("written");
  }

  private static Bytes slice(int step, int dp, int cp, int length) {
    Safetensors.Header header =
        Safetensors.layout(
            List.of(
                new Safetensors.Spec("tokens", Dtype.I32, List.of((long) length)),
                new Safetensors.Spec("step", Dtype.I64, List.of()),
                new Safetensors.Spec("ids", Dtype.U8, List.of(3L))),
            new TreeMap<>());
    ByteBuffer bytes =
        ByteBuffer.allocate(Math.toIntExact(header.lengthBytes())).order(ByteOrder.LITTLE_ENDIAN);
    bytes.put(header.bytes().toByteArray());
    for (Safetensors.Tensor tensor : header.tensors()) {
      switch (tensor.name()) {
        case "tokens" -> {
          for (int i = 0; i < length; i++) {
            bytes.putInt(step * 10_000 + dp * 100 + cp);
          }
        }
        case "step" -> bytes.putLong(step);
        default -> bytes.put((byte) dp).put((byte) cp).put((byte) step);
      }
    }
    return Bytes.wrap(bytes.array());
  }
}
