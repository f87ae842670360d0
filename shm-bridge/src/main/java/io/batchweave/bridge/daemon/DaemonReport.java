package io.batchweave.bridge.daemon;

import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreMeter;
import io.batchweave.store.StoreOperation;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.ToDoubleFunction;

/** The daemon's metrics as text. Thread-safe. */
final class DaemonReport {
  private final DaemonMetrics metrics;
  private final DaemonAgent agent;
  private final List<StreamSource> sources;

  DaemonReport(DaemonMetrics metrics, DaemonAgent agent, List<StreamSource> sources) {
    this.metrics = metrics;
    this.agent = agent;
    this.sources = sources;
  }

  /** The text of one scrape. */
  String text() {
    PrometheusText out = new PrometheusText();
    counters(out);
    rings(out);
    stores(out);
    return out.toString();
  }

  private static void counter(PrometheusText out, String name, String help, LongAdder adder) {
    out.single("batchweave_" + name + "_total", MetricType.COUNTER, help, (double) adder.sum());
  }

  private void counters(PrometheusText out) {
    counter(out, "steps_published", "Steps made visible to ranks.", metrics.stepsPublished);
    counter(out, "steps_failed", "Steps that can never be served.", metrics.stepsFailed);
    counter(out, "fetched_bytes", "Slice bytes read into the rings.", metrics.bytesFetched);
    out.family(
            "batchweave_fetch_seconds",
            MetricType.SUMMARY,
            "Range requests, from sending to checked.")
        .sample("batchweave_fetch_seconds_sum", seconds(metrics.fetchNanos.sum()))
        .sample("batchweave_fetch_seconds_count", (double) metrics.fetches.sum());
    counter(
        out,
        "fetch_failures",
        "Range requests that ended without the bytes.",
        metrics.fetchFailures);
    counter(out, "fetches_cancelled", "Region fetches given up.", metrics.fetchesCancelled);
    counter(
        out, "checksum_failures", "Answers of wrong length or checksum.", metrics.checksumFailures);
    counter(out, "refetches", "Range requests sent again.", metrics.refetches);
    counter(out, "stalls", "Times a rank waited for a step that was not there.", metrics.stalls);
    counter(out, "generations", "Generations opened.", metrics.generations);
    counter(out, "attaches", "Ranks welcomed.", metrics.attaches);
    counter(out, "refusals", "Hellos refused for good.", metrics.refusals);
    counter(out, "readers_lost", "Ranks whose lock went.", metrics.readersLost);
    counter(out, "handshake_errors", "Errors of the Aeron handshake.", metrics.handshakeErrors);
    counter(out, "agent_errors", "Unexpected errors of the agent.", metrics.agentErrors);
  }

  private void rings(PrometheusText out) {
    List<RingGauges> rings = agent.gauges();
    gauge(out, rings, "ring_length_bytes", "Length of the ring.", RingGauges::lengthBytes);
    gauge(
        out,
        rings,
        "ring_used_bytes",
        "Bytes allocated, kept or leased.",
        ring -> ring.status().usedBytes());
    gauge(
        out,
        rings,
        "ring_blocked_bytes",
        "Bytes of the next step while it does not fit, else 0.",
        ring -> ring.status().blockedBytes());
    gauge(
        out,
        rings,
        "ring_unfinished_fetches",
        "Requests that may still write.",
        ring -> ring.status().unfinishedFetches());
    gauge(out, rings, "ring_ranks", "Ranks attached or expected.", RingGauges::readers);
    gauge(
        out, rings, "ring_generation", "Number of the newest generation.", RingGauges::generation);
    gauge(
        out,
        rings,
        "ring_published_steps",
        "Steps published in order in the newest generation.",
        ring -> ring.status().publishedCount());
    gauge(
        out,
        rings,
        "stream_head_step",
        "Steps committed as far as the ring's session knows, -1 if unknown.",
        RingGauges::headStep);
  }

  private static void gauge(
      PrometheusText out,
      List<RingGauges> rings,
      String name,
      String help,
      ToDoubleFunction<RingGauges> value) {
    out.family("batchweave_" + name, MetricType.GAUGE, help);
    for (RingGauges ring : rings) {
      out.sample(
          "batchweave_" + name,
          value.applyAsDouble(ring),
          "ring",
          Integer.toString(ring.ring()),
          "stream",
          ring.stream(),
          "group",
          ring.group(),
          "session",
          ring.session());
    }
  }

  private void stores(PrometheusText out) {
    store(
        out,
        "requests_total",
        MetricType.COUNTER,
        "Requests sent.",
        StoreMeter.Operation::requests);
    store(
        out,
        "failures_total",
        MetricType.COUNTER,
        "Requests that ended without a value.",
        StoreMeter.Operation::failed);
    store(
        out,
        "in_flight",
        MetricType.GAUGE,
        "Requests not answered yet.",
        StoreMeter.Operation::inFlight);
    store(
        out,
        "bytes_total",
        MetricType.COUNTER,
        "Bytes read or written.",
        StoreMeter.Operation::bytes);
    store(
        out,
        "request_seconds_total",
        MetricType.COUNTER,
        "Time from request to answer, summed.",
        operation -> seconds(operation.durationNs()));
    String name = "batchweave_store_failures_by_cause_total";
    out.family(name, MetricType.COUNTER, "Requests that ended without a value, by cause.");
    for (StreamSource source : sources) {
      StoreMeter meter = source.store().snapshot();
      for (StoreFailure failure : StoreFailure.values()) {
        out.sample(
            name,
            meter.failures().getOrDefault(failure, 0L),
            "stream",
            source.url(),
            "cause",
            failure.name().toLowerCase(Locale.ROOT));
      }
    }
  }

  private void store(
      PrometheusText out,
      String name,
      MetricType type,
      String help,
      ToDoubleFunction<StoreMeter.Operation> value) {
    out.family("batchweave_store_" + name, type, help);
    for (StreamSource source : sources) {
      StoreMeter meter = source.store().snapshot();
      for (StoreOperation operation : StoreOperation.values()) {
        out.sample(
            "batchweave_store_" + name,
            value.applyAsDouble(meter.of(operation)),
            "stream",
            source.url(),
            "operation",
            operation.label());
      }
    }
  }

  private static double seconds(long nanos) {
    return nanos / (double) TimeUnit.SECONDS.toNanos(1);
  }
}
