package io.batchweave.bridge.daemon;

/** What a family is. */
enum MetricType {
  /** Only grows. */
  COUNTER,
  /** Goes up and down. */
  GAUGE,
  /** A pair of {@code _sum} and {@code _count}. */
  SUMMARY
}
