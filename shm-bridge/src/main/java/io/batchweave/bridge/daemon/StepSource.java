package io.batchweave.bridge.daemon;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.ring.Coordinate;
import io.batchweave.bridge.ring.FailReason;
import io.batchweave.bridge.ring.TableEntry;
import io.batchweave.format.Grid;
import io.batchweave.read.SessionView;
import io.batchweave.read.SlicePlan;
import io.batchweave.read.StepResult;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/**
 * The steps of one session as its ring needs them: what a step is, cut down to the slices of the
 * node. Plans are kept while their step may still be fetched.
 */
final class StepSource {
  /** What is known about a step. */
  sealed interface Answer {
    /** Ask again later. */
    record Later() implements Answer {}

    /** The stream is sealed there. */
    record End() implements Answer {}

    /** It will never be served. */
    record Never(FailReason reason, String text) implements Answer {}

    /** It can be fetched. */
    record Known(RegionPlan plan) implements Answer {}
  }

  private static final Answer LATER = new Answer.Later();
  private static final Answer END = new Answer.End();
  private static final int WINDOW_STRIDE = 16;
  private static final int MAX_PLANS = 512;

  private final StepFeed feed;
  private final Grid grid;
  private final SessionView view;
  private final TreeMap<Long, RegionPlan> plans = new TreeMap<>();
  private List<Coordinate> coordinates = List.of();
  private String trouble = "";
  private long windowAt;

  StepSource(StepFeed feed, Grid grid, SessionView view) {
    this.feed = feed;
    this.grid = grid;
    this.view = view;
  }

  /** The session's view: which steps it asks for. */
  SessionView view() {
    return view;
  }

  StepFeed feed() {
    return feed;
  }

  /** Sets the slices that the node needs from now on. */
  void coordinates(List<Coordinate> needed) {
    if (!needed.equals(coordinates)) {
      coordinates = List.copyOf(needed);
      plans.clear();
    }
  }

  /** What keeps the stream from being read; empty if nothing does. */
  String trouble() {
    return trouble.isEmpty() ? feed.trouble() : trouble;
  }

  /** What is known about a step, for the slices set. */
  Answer lookup(long step) {
    RegionPlan known = plans.get(step);
    if (known != null) {
      return new Answer.Known(known);
    }
    Answer answer = lookup(step, coordinates);
    if (answer instanceof Answer.Known fresh) {
      plans.put(step, fresh.plan());
      if (plans.size() > MAX_PLANS) {
        plans.pollFirstEntry();
      }
    }
    return answer;
  }

  /** What is known about a step, for any slices. */
  Answer lookup(long step, List<Coordinate> needed) {
    try {
      trouble = "";
      return switch (feed.lookup(step)) {
        case StepResult.NotYet notYet -> LATER;
        case StepResult.Loading loading -> LATER;
        case StepResult.End end -> END;
        case StepResult.Reclaimed reclaimed ->
            new Answer.Never(
                FailReason.RECLAIMED,
                "the step was reclaimed: step=" + step + " horizon=" + reclaimed.horizon());
        case StepResult.Failed failed -> never(failed.cause());
        case StepResult.Ready ready ->
            new Answer.Known(
                RegionPlan.of(step, SlicePlan.of(ready.entry(), grid, grid, places(needed))));
      };
    } catch (BatchWeaveException e) {
      if (e.kind() != Kind.RETRYABLE) {
        return never(e);
      }
      trouble = String.valueOf(e.getMessage());
      return LATER;
    }
  }

  private static Answer never(BatchWeaveException cause) {
    return new Answer.Never(FailReasons.of(cause.kind()), String.valueOf(cause.getMessage()));
  }

  private static List<io.batchweave.read.Coordinate> places(List<Coordinate> needed) {
    List<io.batchweave.read.Coordinate> places = new ArrayList<>(needed.size());
    for (Coordinate coordinate : needed) {
      places.add(new io.batchweave.read.Coordinate(coordinate.dp(), coordinate.cp()));
    }
    return places;
  }

  /** Says which step is wanted next, so that the reader's window keeps ahead of it. */
  void nowAt(long step) {
    if (step >= 0 && Math.abs(step - windowAt) >= WINDOW_STRIDE) {
      windowAt = step;
      feed.prefetchFrom(step);
    }
  }

  /** The table of a step's region. */
  static List<TableEntry> table(RegionPlan plan) {
    List<TableEntry> entries = new ArrayList<>(plan.sliceCount());
    for (RegionPlan.Part part : plan.parts()) {
      for (SlicePlan.PlannedSlice slice : part.range().slices()) {
        entries.add(
            new TableEntry(
                new Coordinate(slice.dp(), slice.cp()),
                part.offset() + slice.offsetInRange(),
                slice.entry().lengthBytes(),
                slice.entry().crc32c(),
                slice.entry().microBatches(),
                slice.entry().samples(),
                slice.entry().tokens()));
      }
    }
    return entries;
  }
}
