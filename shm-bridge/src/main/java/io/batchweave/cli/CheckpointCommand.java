package io.batchweave.cli;

import picocli.CommandLine.Command;

/** {@code checkpoint add|list|remove}. */
@Command(
    name = "checkpoint",
    mixinStandardHelpOptions = true,
    subcommands = {
      CheckpointAddCommand.class,
      CheckpointListCommand.class,
      CheckpointRemoveCommand.class
    },
    description = {
      "Add, show or remove the model checkpoints that steps are kept for.",
      "Works without a daemon: the store is asked directly."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  ./batchweave checkpoint add    file:/data/stream pretrain before-decay 120000",
      "  ./batchweave checkpoint list   file:/data/stream",
      "  ./batchweave checkpoint remove file:/data/stream pretrain before-decay"
    })
final class CheckpointCommand {}
