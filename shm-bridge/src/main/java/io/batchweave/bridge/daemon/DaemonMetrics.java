package io.batchweave.bridge.daemon;

import java.util.concurrent.atomic.LongAdder;

/** What the daemon counts. Counters only grow; written by any thread, read by the endpoint. */
final class DaemonMetrics {
  final LongAdder stepsPublished = new LongAdder();
  final LongAdder bytesFetched = new LongAdder();
  final LongAdder fetches = new LongAdder();
  final LongAdder fetchNanos = new LongAdder();
  final LongAdder fetchFailures = new LongAdder();
  final LongAdder fetchesCancelled = new LongAdder();
  final LongAdder checksumFailures = new LongAdder();
  final LongAdder refetches = new LongAdder();
  final LongAdder stepsFailed = new LongAdder();
  final LongAdder stalls = new LongAdder();
  final LongAdder generations = new LongAdder();
  final LongAdder attaches = new LongAdder();
  final LongAdder refusals = new LongAdder();
  final LongAdder readersLost = new LongAdder();
  final LongAdder handshakeErrors = new LongAdder();
  final LongAdder agentErrors = new LongAdder();
}
