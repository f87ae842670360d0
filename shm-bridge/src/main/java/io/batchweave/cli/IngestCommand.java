package io.batchweave.cli;

import io.batchweave.client.Operator;
import io.batchweave.client.OperatorContext;
import io.batchweave.client.Producer;
import io.batchweave.client.ProducerContext;
import io.batchweave.ingest.Ingest;
import io.batchweave.ingest.IngestContext;
import io.batchweave.ingest.IngestTotals;
import io.batchweave.ingest.OnError;
import io.batchweave.ingest.Shard;
import io.batchweave.store.ObjectStore;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import org.agrona.concurrent.SystemNanoClock;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ingest URL PATH…}. */
@Command(
    name = "ingest",
    mixinStandardHelpOptions = true,
    description = {
      "Cut files into batches and commit them as steps of a stream.",
      "Plain text, or JSONL with --text-field; a token is a byte. Each slice holds one int32 tensor",
      "'tokens' of [sequences, tokens of a sequence]. Killed at any time and run again, it goes on",
      "where it was committed, also when files were added or appended to."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  ./batchweave ingest file:/data/stream corpus/ --seq-len 2048 --global-batch 64 --seal",
      "  ./batchweave ingest s3://bucket/run7 'logs/*.jsonl' --text-field body --shard 3/16 \\",
      "      --producer logs-3 --seq-len 4096 --global-batch 256 --on-error skip"
    })
final class IngestCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private StreamArgument stream = new StreamArgument();

  @Parameters(
      index = "1..*",
      arity = "1..*",
      paramLabel = "PATH",
      description = "Files, directories (all files below; hidden ones are left out) or patterns.")
  private List<String> inputs = List.of();

  @Option(
      names = "--producer",
      defaultValue = "ingest",
      description = "Stable id of this producer (default ${DEFAULT-VALUE}): a-z, 0-9 and -.")
  private String producerId = "";

  @Option(
      names = "--seq-len",
      defaultValue = "1024",
      description = "Tokens of a sequence (default ${DEFAULT-VALUE}); cp must divide it.")
  private int sequenceLength;

  @Option(
      names = "--global-batch",
      defaultValue = "32",
      description = "Sequences of a step (default ${DEFAULT-VALUE}); dp must divide it.")
  private int globalBatch;

  @Option(
      names = "--micro-batches",
      defaultValue = "1",
      description = "Micro-batches that each slice declares (default ${DEFAULT-VALUE}).")
  private int microBatches;

  @Option(
      names = "--text-field",
      defaultValue = "",
      description = "Take this field of each line of JSON instead of the plain text.")
  private String textField = "";

  @Option(
      names = "--shard",
      paramLabel = "I/N",
      defaultValue = "0/1",
      description = "Take the files that fall to shard I of N; give each its own --producer.")
  private String shard = "";

  @Option(
      names = "--on-error",
      defaultValue = "FAIL",
      description = "A bad JSONL line: ${COMPLETION-CANDIDATES} (default ${DEFAULT-VALUE}).")
  private OnError onError = OnError.FAIL;

  @Option(
      names = "--max-rate",
      paramLabel = "BATCHES/S",
      defaultValue = "0",
      description = "At most so many batches a second; 0: as fast as it goes.")
  private int maxRate;

  @Option(names = "--seal", description = "End the stream when all is committed.")
  private boolean seal;

  @Override
  public Integer call() {
    if (maxRate < 0) {
      throw new ParameterException(spec.commandLine(), "--max-rate must be at least 0: " + maxRate);
    }
    PrintWriter out = spec.commandLine().getOut();
    IngestProgress progress =
        new IngestProgress(out, spec.commandLine().getErr(), SystemNanoClock.INSTANCE, maxRate);
    IngestContext context =
        new IngestContext()
            .inputs(inputs)
            .textField(textField)
            .sequenceLength(sequenceLength)
            .globalBatch(globalBatch)
            .microBatches(microBatches)
            .shard(Shard.parse(shard))
            .onError(onError)
            .listener(progress);
    try (StreamArgument.Opened opened = stream.openStream()) {
      Ingest.survey(context, opened.descriptor().grid());
      ObjectStore store = opened.store();
      IngestTotals totals;
      try (Producer producer =
          Producer.open(
              new ProducerContext()
                  .store(store)
                  .producerId(producerId)
                  .commitListener(progress::onCommitted))) {
        totals = Ingest.run(context, producer);
      }
      progress.printDone(totals);
      if (seal) {
        try (Operator operator = Operator.open(new OperatorContext().store(store))) {
          out.println("sealed at " + operator.seal() + " steps");
        }
      }
      return 0;
    }
  }
}
