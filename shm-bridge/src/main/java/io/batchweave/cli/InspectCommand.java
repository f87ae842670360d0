package io.batchweave.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.client.ReaderContext;
import io.batchweave.client.StreamReader;
import io.batchweave.format.Grid;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.Safetensors;
import io.batchweave.format.SliceEntry;
import io.batchweave.format.SnapshotRecord;
import io.batchweave.format.StreamCapabilities;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.SessionState;
import io.batchweave.log.SkipState;
import io.batchweave.log.State;
import io.batchweave.read.Coordinate;
import io.batchweave.read.StepResult;
import java.util.StringJoiner;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code inspect URL [STEP [SLICE]]}. */
@Command(
    name = "inspect",
    mixinStandardHelpOptions = true,
    description = "Show a stream, one of its steps, or one slice of a step.",
    footerHeading = "%nExamples:%n",
    footer = {
      "  ./batchweave inspect file:/data/stream",
      "  ./batchweave inspect file:/data/stream 17",
      "  ./batchweave inspect file:/data/stream 17 3 --json"
    })
final class InspectCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private StreamArgument stream = new StreamArgument();
  @Mixin private OutputOption output = new OutputOption();

  @Parameters(index = "1", arity = "0..1", paramLabel = "STEP", description = "A step, from 0.")
  private @Nullable Long step;

  @Parameters(
      index = "2",
      arity = "0..1",
      paramLabel = "SLICE",
      description = "A slice of it: dp * cpSize + cp, from 0.")
  private @Nullable Integer slice;

  @Override
  public Integer call() {
    if (step != null && step < 0) {
      throw new ParameterException(spec.commandLine(), "steps count from 0: " + step);
    }
    try (StreamArgument.Opened opened = stream.openStream();
        StreamReader reader = StreamReader.open(new ReaderContext().store(opened.store()))) {
      output.print(spec, document(reader, opened.store().url()));
      return 0;
    }
  }

  private ObjectNode document(StreamReader reader, String url) {
    if (step == null) {
      return describe(reader, url);
    }
    State head = reader.refresh(StreamArgument.TIMEOUT_NS);
    if (step >= head.nextStep() && !head.sealed()) {
      throw absent("only " + head.nextStep() + " steps are committed");
    }
    StepResult result = reader.await(step, StreamArgument.TIMEOUT_NS);
    StepResult.Ready ready =
        switch (result) {
          case StepResult.Ready known -> known;
          case StepResult.End end -> throw absent("the stream is sealed at " + end.endStep());
          case StepResult.NotYet notYet ->
              throw absent("only " + reader.nextStep() + " steps are committed");
          case StepResult.Reclaimed reclaimed ->
              throw new BatchWeaveException(
                  Kind.RECLAIMED,
                  "step was reclaimed: step=" + step + " horizon=" + reclaimed.horizon());
          case StepResult.Failed failed -> throw failed.cause();
          case StepResult.Loading loading ->
              throw new BatchWeaveException(
                  Kind.RETRYABLE, "step is still being looked up: step=" + step + "; try again");
        };
    Grid grid = reader.descriptor().grid();
    if (slice == null) {
      ObjectNode document = describe(ready, reader.readFooter(ready).origin(), grid);
      describeSkips(document, head, step);
      return document;
    }
    if (slice < 0 || slice >= grid.sliceCount()) {
      throw new ParameterException(
          spec.commandLine(),
          "no slice " + slice + " in a step of " + grid.sliceCount() + " slices");
    }
    Coordinate place = new Coordinate(slice / grid.cp(), slice % grid.cp());
    Bytes bytes = reader.readSlice(ready, place);
    return describe(ready, slice, bytes);
  }

  private ParameterException absent(String why) {
    return new ParameterException(spec.commandLine(), "no step " + step + ": " + why);
  }

  private static ObjectNode describe(StreamReader reader, String url) {
    StreamDescriptor descriptor = reader.descriptor();
    State head = reader.refresh(StreamArgument.TIMEOUT_NS);
    SnapshotRecord state = head.toRecord();
    ObjectNode document = JsonDocument.create();
    document.put("stream", descriptor.streamId().toString());
    document.put("url", url);
    document.put("format", descriptor.formatVersion());
    document.put("dp", descriptor.dp());
    document.put("cp", descriptor.cp());
    document.put("store", String.join(",", StreamCapabilities.names(descriptor.capabilities())));
    document.put("version", state.version());
    document.put("steps", state.nextStep());
    document.put("horizon", state.horizon());
    document.put("sealed", state.sealed());
    ArrayNode producers = document.putArray("producers");
    for (SnapshotRecord.ProducerEntry producer : state.producers()) {
      producers
          .addObject()
          .put("producer", producer.producer())
          .put("epoch", producer.epoch())
          .put("batches", producer.nextSeq() - 1)
          .put("lastVersion", producer.lastVersion())
          .put("retired", producer.life() == SnapshotRecord.Life.RETIRED);
    }
    ArrayNode skips = document.putArray("skips");
    for (SkipState skip : head.skips()) {
      skips
          .addObject()
          .put("skip", skip.from() + ".." + skip.to())
          .put("forLaunchesFromVersion", skip.version());
    }
    ArrayNode sessions = document.putArray("sessions");
    for (String group : head.groups()) {
      SessionState session = head.group(group).session();
      if (session != null) {
        sessions
            .addObject()
            .put("group", group)
            .put("session", session.sessionId())
            .put("view", session.view())
            .put("startStep", session.startStep())
            .put("passesOver", passedOver(head, session));
      }
    }
    return document;
  }

  /** The steps that a launch does not see. */
  private static String passedOver(State head, SessionState session) {
    StringJoiner ranges = new StringJoiner(",");
    ranges.setEmptyValue("none");
    for (SkipState skip : head.skips()) {
      long from = Math.max(skip.from(), session.startStep());
      if (skip.version() <= session.view() && from < skip.to()) {
        ranges.add(from + ".." + skip.to());
      }
    }
    return ranges.toString();
  }

  /** Who passes over a step, if anybody does. */
  private static void describeSkips(ObjectNode document, State head, long step) {
    for (SkipState skip : head.skips()) {
      if (skip.from() <= step && step < skip.to()) {
        document.put("skippedFrom", "version " + skip.version());
        break;
      }
    }
    StringJoiner sessions = new StringJoiner(",");
    for (String group : head.groups()) {
      SessionState session = head.group(group).session();
      if (session != null && head.skipped(step, session.view())) {
        sessions.add(group + "/" + session.sessionId());
      }
    }
    if (sessions.length() > 0) {
      document.put("passedBy", sessions.toString());
    }
  }

  private static ObjectNode describe(StepResult.Ready ready, String origin, Grid grid) {
    TgbEntry entry = ready.entry();
    ObjectNode document = JsonDocument.create();
    document.put("step", ready.step());
    document.put("producer", entry.object().producer());
    document.put("epoch", entry.object().epoch());
    document.put("seq", entry.seq());
    document.put("origin", origin);
    document.put("object", ObjectNames.data(entry.object()));
    document.put("offset", entry.offset());
    document.put("length", entry.lengthBytes());
    ArrayNode slices = document.putArray("slices");
    for (int index = 0; index < entry.slices().size(); index++) {
      SliceEntry slice = entry.slices().get(index);
      slices
          .addObject()
          .put("slice", index)
          .put("dp", index / grid.cp())
          .put("cp", index % grid.cp())
          .put("offset", slice.offset())
          .put("length", slice.lengthBytes())
          .put("crc32c", String.format("%08x", slice.crc32c()))
          .put("microBatches", slice.microBatches())
          .put("samples", slice.samples())
          .put("tokens", slice.tokens());
    }
    return document;
  }

  private static ObjectNode describe(StepResult.Ready ready, int slice, Bytes bytes) {
    TgbEntry entry = ready.entry();
    ObjectNode document = JsonDocument.create();
    document.put("step", ready.step());
    document.put("slice", slice);
    document.put("length", bytes.length());
    document.put("crc32c", String.format("%08x", entry.slices().get(slice).crc32c()));
    Safetensors.Header header;
    try {
      header = Safetensors.read(ObjectNames.data(entry.object()), bytes, bytes.length());
    } catch (BatchWeaveException e) {
      document.put("content", "raw bytes: " + e.getMessage());
      return document;
    }
    document.set("metadata", JsonDocument.JSON.valueToTree(header.metadata()));
    ArrayNode tensors = document.putArray("tensors");
    for (Safetensors.Tensor tensor : header.tensors()) {
      tensors
          .addObject()
          .put("tensor", tensor.name())
          .put("dtype", tensor.dtype().toString())
          .put("shape", tensor.shape().toString())
          .put("offset", tensor.offset())
          .put("length", tensor.lengthBytes());
    }
    return document;
  }
}
