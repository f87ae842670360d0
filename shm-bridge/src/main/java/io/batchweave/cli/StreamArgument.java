package io.batchweave.cli;

import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import picocli.CommandLine.Parameters;

/** The stream a command works on. */
final class StreamArgument {
  /** The name of the field that holds it in every command. */
  static final String MIXIN = "stream";

  @Parameters(
      index = "0",
      paramLabel = "URL",
      description = {
        "Root of the stream: a directory, file:/path, or s3://bucket/prefix?setting=value",
        "(settings below)."
      })
  private String url = "";

  /** Opens the store, with retries. */
  ObjectStore open() {
    return Stores.openRetrying(url, System.getenv());
  }
}
