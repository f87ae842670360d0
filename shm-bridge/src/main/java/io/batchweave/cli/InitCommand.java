package io.batchweave.cli;

import io.batchweave.client.Streams;
import io.batchweave.format.Grid;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.store.ObjectStore;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code init URL --dp N [--cp N]}. */
@Command(
    name = "init",
    mixinStandardHelpOptions = true,
    description = {
      "Make a stream and fix the grid its batches are cut for.",
      "Doing it again with the same grid changes nothing."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  ./batchweave init file:/data/stream --dp 8",
      "  ./batchweave init 's3://bucket/run7?region=eu-central-1' --dp 64 --cp 2"
    })
final class InitCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private StreamArgument stream = new StreamArgument();

  @Option(names = "--dp", required = true, description = "Data-parallel size, at least 1.")
  private int dp;

  @Option(names = "--cp", description = "Context-parallel size, at least 1 (default 1).")
  private int cp = 1;

  @Override
  public Integer call() {
    Grid grid;
    try {
      grid = new Grid(dp, cp);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), e.getMessage(), e);
    }
    try (ObjectStore store = stream.open()) {
      StreamDescriptor descriptor = Streams.create(store, grid);
      spec.commandLine()
          .getOut()
          .println(
              "stream "
                  + descriptor.streamId()
                  + " at "
                  + store.url()
                  + ": "
                  + grid.sliceCount()
                  + " slices a step (dp="
                  + dp
                  + " cp="
                  + cp
                  + ")");
      return 0;
    }
  }
}
