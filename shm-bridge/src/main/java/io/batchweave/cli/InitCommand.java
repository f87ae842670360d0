package io.batchweave.cli;

import io.batchweave.client.Streams;
import io.batchweave.client.Streams.Unsound;
import io.batchweave.format.Grid;
import io.batchweave.format.StreamCapabilities;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.store.ObjectStore;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code init URL --dp N [--cp N] [--force]}. */
@Command(
    name = "init",
    mixinStandardHelpOptions = true,
    description = {
      "Make a stream and fix the grid its batches are cut for.",
      "Doing it again with the same grid changes nothing. First the store has to pass a short race",
      "of conditional creates (probe is the long one)."
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

  @Option(
      names = "--force",
      description = {
        "Make the stream even if the store fails the race: then writers may overwrite each other's",
        "commits, and batches be lost or doubled. The stream records that nothing is promised."
      })
  private boolean force;

  @Override
  public Integer call() {
    Grid grid;
    try {
      grid = new Grid(dp, cp);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), e.getMessage(), e);
    }
    try (ObjectStore store = stream.open()) {
      StreamDescriptor descriptor =
          Streams.createChecked(store, grid, force ? Unsound.RECORD : Unsound.REFUSE);
      warnIfUnsound(descriptor);
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

  private void warnIfUnsound(StreamDescriptor descriptor) {
    if ((descriptor.capabilities() & StreamCapabilities.UNSOUND_STORE) != 0) {
      spec.commandLine()
          .getErr()
          .println(
              "warning: this store failed the create race: writers may overwrite each other's"
                  + " commits; batches may be lost or doubled");
    }
  }
}
