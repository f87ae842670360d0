package io.batchweave.cli;

import picocli.CommandLine.Command;

/** {@code session list|end}. */
@Command(
    name = "session",
    mixinStandardHelpOptions = true,
    subcommands = {SessionListCommand.class, SessionEndCommand.class},
    description = {
      "Show or end the launches that keep steps of a stream from being reclaimed.",
      "A launch is registered by its first rank and ended by the next launch of its group."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  ./batchweave session list file:/data/stream",
      "  ./batchweave session end  file:/data/stream pretrain"
    })
final class SessionCommand {}
