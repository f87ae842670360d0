package io.batchweave.cli;

import io.batchweave.ingest.IngestListener;
import io.batchweave.ingest.IngestTotals;
import java.io.PrintWriter;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.agrona.concurrent.NanoClock;

/** Prints how an ingest goes on, once in two seconds, and keeps it to a rate where one is set. */
final class IngestProgress implements IngestListener {
  private static final long LINE_NS = TimeUnit.SECONDS.toNanos(2);
  private static final int SHOWN_SKIPS = 20;

  private final PrintWriter out;
  private final PrintWriter err;
  private final NanoClock clock;
  private final int maxRate;
  private final AtomicLong committed = new AtomicLong();
  private final long beganNs;
  private long lastLineNs;
  private long totalBytes;
  private long batches;
  private long skipped;
  private IngestTotals resumed = IngestTotals.NONE;

  /** Rate in batches a second; 0 for none. */
  IngestProgress(PrintWriter out, PrintWriter err, NanoClock clock, int maxRate) {
    this.out = out;
    this.err = err;
    this.clock = clock;
    this.maxRate = maxRate;
    this.beganNs = clock.nanoTime();
    this.lastLineNs = beganNs;
  }

  @Override
  public void onStart(int files, long bytes, IngestTotals before) {
    totalBytes = bytes;
    resumed = before;
    out.println(
        files
            + (files == 1 ? " file, " : " files, ")
            + ByteSize.format(bytes)
            + (before.batches() == 0
                ? ""
                : "; going on after " + before.batches() + " committed batches"));
  }

  @Override
  public void onBatch(long seq, String origin, IngestTotals totals) {
    batches++;
    if (maxRate > 0) {
      long dueNs = beganNs + batches * TimeUnit.SECONDS.toNanos(1) / maxRate;
      for (long left = dueNs - clock.nanoTime(); left > 0; left = dueNs - clock.nanoTime()) {
        LockSupport.parkNanos(left);
      }
    }
    long now = clock.nanoTime();
    if (now - lastLineNs > LINE_NS) {
      lastLineNs = now;
      out.printf(
          "%s of %s read, %d batches cut, %d committed, %d s%n",
          ByteSize.format(totals.bytes()),
          ByteSize.format(totalBytes),
          totals.batches(),
          resumed.batches() + committed.get(),
          TimeUnit.NANOSECONDS.toSeconds(now - beganNs));
    }
  }

  @Override
  public void onSkipped(String file, long line, String reason) {
    skipped++;
    if (skipped <= SHOWN_SKIPS) {
      err.println("left out: " + file + ":" + line + ": " + reason);
    } else if (skipped == SHOWN_SKIPS + 1) {
      err.println("left out: more lines, which are counted below");
    }
  }

  /** Counts a committed batch; called on the producer's thread. */
  void onCommitted(long seq, long step) {
    committed.incrementAndGet();
  }

  /** Prints the end. */
  void printDone(IngestTotals totals) {
    IngestTotals own = totals.minus(resumed);
    out.printf(
        "committed %d batches: %d samples, %d tokens (and %d of padding), %s of input",
        own.batches(),
        own.samples(),
        own.tokens(),
        own.paddingTokens(),
        ByteSize.format(own.bytes()));
    if (totals.skippedLines() > 0) {
      out.printf("; %d lines left out", totals.skippedLines());
    }
    out.println();
  }
}
