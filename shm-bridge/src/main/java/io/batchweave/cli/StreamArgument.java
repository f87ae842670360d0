package io.batchweave.cli;

import io.batchweave.client.Streams;
import io.batchweave.format.StreamDescriptor;
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

  /** A store that holds a stream. */
  record Opened(ObjectStore store, StreamDescriptor descriptor) implements AutoCloseable {
    @Override
    public void close() {
      store.close();
    }
  }

  /** Opens the store, with retries. */
  ObjectStore open() {
    return Stores.openRetrying(url, System.getenv());
  }

  /**
   * Opens the store and reads what stream it holds: a wrong root, wrong credentials or a store that
   * is not there are told at once, and by this one request.
   */
  Opened openStream() {
    ObjectStore store = open();
    boolean opened = false;
    try {
      Opened result = new Opened(store, Streams.describe(store));
      opened = true;
      return result;
    } finally {
      if (!opened) {
        store.close();
      }
    }
  }
}
