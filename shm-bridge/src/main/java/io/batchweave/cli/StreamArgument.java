package io.batchweave.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.batchweave.client.Streams;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.log.State;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Parameters;

/** The stream a command works on. */
final class StreamArgument {
  /** The name of the field that holds it in every command. */
  static final String MIXIN = "stream";

  /** How long a command waits for the head of the log. */
  static final long TIMEOUT_NS = TimeUnit.SECONDS.toNanos(60);

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

  /** What every listing begins with. */
  static ObjectNode describe(Opened opened, State state) {
    return JsonDocument.create()
        .put("url", opened.store().url())
        .put("version", state.version())
        .put("horizon", state.horizon())
        .put("steps", state.nextStep());
  }
}
