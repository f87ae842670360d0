package io.batchweave.simulate;

import io.batchweave.BatchWeaveException;
import io.batchweave.commit.Decision;
import io.batchweave.format.TgbEntry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** Everything that any process was told during one seed and, if asked for, all that happened. */
final class Chronicle {
  /** A producer's process was told that a batch is in the log. */
  record Acknowledged(String process, String producer, long seq, long step) {}

  /** A user was told that a batch will never be in the log. */
  record ReportedFailed(String process, String producer, long seq) {}

  /** A reader was told a step's entry. */
  record Described(String process, long step, TgbEntry entry) {}

  /** A reader got a slice. */
  record Read(String process, long step, int dp, long lengthBytes, boolean right, String detail) {}

  /** A reader was told that the stream ends. */
  record Ended(String process, long step, long endStep) {}

  /** A producer's incarnation began to work. */
  record Began(String process, String producer, int epoch, long nextSeq, long position) {}

  /** A producer's process stopped for good. */
  record Stopped(String process, String producer, int epoch, BatchWeaveException cause) {}

  /** An operator was told what became of a block. */
  record Decided(String process, Decision decision) {}

  /** Something that must not be, noticed where it happened. */
  record Broken(Promise promise, String process, long version, String detail) {}

  final List<Acknowledged> acknowledged = new ArrayList<>();
  final List<ReportedFailed> reportedFailed = new ArrayList<>();
  final List<Described> described = new ArrayList<>();

  /** The view of each rank. */
  final Map<String, Long> views = new HashMap<>();

  final List<Read> read = new ArrayList<>();
  final List<Ended> ended = new ArrayList<>();
  final List<Began> began = new ArrayList<>();
  final List<Stopped> stopped = new ArrayList<>();
  final List<Decided> decided = new ArrayList<>();
  final List<Broken> broken = new ArrayList<>();
  private final LongSupplier clock;
  private final boolean recording;
  private final List<String> history = new ArrayList<>();

  Chronicle(LongSupplier clock, boolean recording) {
    this.clock = clock;
    this.recording = recording;
  }

  /** Writes down a line of history. */
  void note(String process, Supplier<String> what) {
    if (recording) {
      long micros = clock.getAsLong() / 1_000;
      history.add(
          String.format(
              Locale.ROOT,
              "%6d.%06d  %-12s %s",
              micros / 1_000_000,
              micros % 1_000_000,
              process,
              what.get()));
    }
  }

  void broken(Promise promise, String process, long version, String detail) {
    broken.add(new Broken(promise, process, version, detail));
    note(process, () -> "BROKEN " + promise + ": " + detail);
  }

  List<String> history() {
    return history;
  }
}
