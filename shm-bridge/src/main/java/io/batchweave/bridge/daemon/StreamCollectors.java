package io.batchweave.bridge.daemon;

import io.batchweave.BatchWeaveException;
import io.batchweave.client.Collector;
import io.batchweave.client.CollectorContext;
import io.batchweave.retain.CollectReport;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Collects the streams that a daemon serves, one thread each, for as long as it is open. Any number
 * of nodes may do so: they find each other's work done. What goes wrong here is said and never
 * stops the serving.
 */
public final class StreamCollectors implements AutoCloseable {
  private final List<Running> running = new ArrayList<>();
  private final Consumer<String> lines;

  /** One stream. */
  private record Running(ObjectStore store, Collector collector, Thread thread) {}

  private StreamCollectors(Consumer<String> lines) {
    this.lines = lines;
  }

  /**
   * Starts.
   *
   * @param urls of the streams
   * @param environment variables that stores are opened with
   * @param intervalNs from one run to the next; the first begins within it
   * @param lines takes what is deleted and what goes wrong
   * @throws BatchWeaveException if a root is no stream
   */
  public static StreamCollectors start(
      List<String> urls, Map<String, String> environment, long intervalNs, Consumer<String> lines) {
    StreamCollectors collectors = new StreamCollectors(lines);
    boolean started = false;
    try {
      for (String url : urls) {
        collectors.start(url, environment, intervalNs);
      }
      started = true;
      return collectors;
    } finally {
      if (!started) {
        collectors.close();
      }
    }
  }

  private void start(String url, Map<String, String> environment, long intervalNs) {
    ObjectStore store = Stores.openRetrying(url, environment);
    Collector collector;
    try {
      collector = Collector.open(new CollectorContext().store(store));
    } catch (RuntimeException e) {
      store.close();
      throw e;
    }
    Thread thread =
        Thread.ofPlatform()
            .daemon()
            .name("batchweave-reclaim-" + running.size())
            .unstarted(() -> collect(store, collector, intervalNs));
    running.add(new Running(store, collector, thread));
    thread.start();
  }

  private void collect(ObjectStore store, Collector collector, long intervalNs) {
    try {
      collector.runEvery(
          intervalNs,
          Collector.First.WITHIN_THE_INTERVAL,
          report -> say(store, report),
          trouble -> lines.accept("reclaim: " + store.url() + ": " + trouble.getMessage()));
    } catch (BatchWeaveException e) {
      lines.accept("reclaim stopped: " + store.url() + ": " + e.getMessage());
    }
  }

  private void say(ObjectStore store, CollectReport report) {
    long objects = report.data().objects() + report.sourceStates().objects();
    if (objects + report.movedSteps() > 0) {
      lines.accept(
          "reclaimed: "
              + store.url()
              + " horizon="
              + report.horizon()
              + " objects="
              + objects
              + " bytes="
              + (report.data().bytes() + report.sourceStates().bytes()));
    }
  }

  /** Stops, at the next opportunity of each run. */
  @Override
  public void close() {
    running.forEach(one -> one.collector().close());
    boolean interrupted = false;
    for (Running one : running) {
      while (one.thread().isAlive()) {
        try {
          one.thread().join();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      one.store().close();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
