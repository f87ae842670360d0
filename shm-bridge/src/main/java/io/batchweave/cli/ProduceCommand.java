package io.batchweave.cli;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.util.RawValue;
import io.batchweave.client.Producer;
import io.batchweave.client.ProducerContext;
import io.batchweave.ingest.BatchLines;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code produce URL --producer ID}: JSON lines in, JSON lines out. */
@Command(
    name = "produce",
    mixinStandardHelpOptions = true,
    description = {
      "Commit batches that a program in any language prepares.",
      "",
      "The first line out says where to go on: {\"nextSeq\":1,\"state\":null}. Then one line in is one",
      "batch: {\"slices\":[paths of safetensors files in grid order],\"state\":any JSON,\"origin\":text}",
      "(optional: microBatches, samples, tokens: a number, or an array with one for each slice).",
      "One line out for each committed batch: {\"seq\":1,\"step\":17}. A batch that was not reported",
      "may still be committed: after a restart the first line tells."
    },
    footerHeading = "%nExample:%n",
    footer = "  my_packer.py | ./batchweave produce s3://bucket/run7 --producer packer-3")
final class ProduceCommand implements Callable<Integer> {
  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private StreamArgument stream = new StreamArgument();

  @Option(
      names = "--producer",
      required = true,
      description = "Stable id of this producer: 1 to 64 characters of a-z, 0-9 and -.")
  private String producerId = "";

  @Override
  public Integer call() {
    PrintWriter out = spec.commandLine().getOut();
    ProducerContext context = new ProducerContext().producerId(producerId);
    try (StreamArgument.Opened opened = stream.openStream()) {
      BatchLines lines = new BatchLines(opened.descriptor().grid());
      context
          .store(opened.store())
          .commitListener(
              (seq, step) -> out.println(NODES.objectNode().put("seq", seq).put("step", step)));
      try (Producer producer = Producer.open(context);
          BufferedReader in =
              new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
        byte[] state = producer.sourceState().toByteArray();
        ObjectNode first = NODES.objectNode().put("nextSeq", producer.nextSeq());
        if (state.length == 0) {
          first.putNull("state");
        } else {
          first.putRawValue("state", new RawValue(new String(state, StandardCharsets.UTF_8)));
        }
        out.println(first);
        for (String line = lines.next(in); line != null; line = lines.next(in)) {
          if (!line.isBlank()) {
            BatchLines.Batch batch = lines.parse(line);
            producer.add(batch.tgb(), batch.sourceState());
          }
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      return 0;
    }
  }
}
