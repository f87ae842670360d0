package io.batchweave.format;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.format.Block.EndSession;
import io.batchweave.format.Block.Fence;
import io.batchweave.format.Block.OpenSession;
import io.batchweave.format.Block.OperatorPin;
import io.batchweave.format.Block.Pin;
import io.batchweave.format.Block.Produce;
import io.batchweave.format.Block.Reclaim;
import io.batchweave.format.Block.Retire;
import io.batchweave.format.Block.Seal;
import io.batchweave.format.Block.Skip;
import io.batchweave.format.Block.Unpin;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a record must satisfy beyond its types, checked before it is encoded and after it was
 * decoded. Each rule answers a complaint, or null. Whether a block takes effect is not decided
 * here: only what no correct writer can have meant is refused.
 */
final class Rules {
  private static final long MAX_OBJECT_BYTES = 1L << 46;

  private Rules() {}

  /** Refuses to encode what a rule complains about. */
  static void require(@Nullable String problem) {
    if (problem != null) {
      throw new BatchWeaveException(Kind.CONFIG, "cannot be written: " + problem);
    }
  }

  static @Nullable String name(String what, String name) {
    return Limits.NAME_PATTERN.matcher(name).matches()
        ? null
        : "not a name of 1-64 characters a-z, 0-9, '-': " + what + "=" + printable(name);
  }

  static @Nullable String notNegative(String what, long value) {
    return value < 0 ? "negative: " + what + "=" + value : null;
  }

  static @Nullable String positive(String what, long value) {
    return value < 1 ? "not positive: " + what + "=" + value : null;
  }

  static @Nullable String header(VersionHeader header) {
    return first(
        positive("version", header.version()),
        notNegative("nextStep", header.nextStep()),
        notNegative("horizon", header.horizon()),
        notNegative("newestSnapshot", header.newestSnapshot()),
        notNegative("paceMillis", header.paceMillis()));
  }

  static @Nullable String block(Block block) {
    return switch (block) {
      case Fence b -> first(name("producer", b.producer()), positive("epoch", b.epoch()));
      case Produce b -> produce(b);
      case Retire b -> first(name("producer", b.producer()), notNegative("base", b.base()));
      case OpenSession b ->
          first(
              name("group", b.group()),
              name("sessionId", b.sessionId()),
              notNegative("startStep", b.startStep()),
              notNegative("base", b.base()));
      case EndSession b ->
          first(
              name("group", b.group()),
              name("sessionId", b.sessionId()),
              notNegative("base", b.base()));
      case Pin b ->
          first(
              name("group", b.group()),
              name("sessionId", b.sessionId()),
              name("id", b.id()),
              notNegative("view", b.view()),
              notNegative("step", b.step()),
              positive("keep", b.keep()));
      case OperatorPin b ->
          first(
              name("group", b.group()),
              name("id", b.id()),
              notNegative("step", b.step()),
              notNegative("base", b.base()));
      case Unpin b ->
          first(name("group", b.group()), name("id", b.id()), notNegative("base", b.base()));
      case Skip b ->
          first(
              notNegative("from", b.from()),
              notNegative("to", b.to()),
              notNegative("base", b.base()));
      case Reclaim b -> first(notNegative("step", b.step()), notNegative("base", b.base()));
      case Seal b -> null;
    };
  }

  private static @Nullable String produce(Produce block) {
    String problem =
        first(
            name("producer", block.producer()),
            positive("epoch", block.epoch()),
            notNegative("firstSeq", block.firstSeq()),
            sourceState(block.sourceState()));
    if (problem != null) {
      return problem;
    }
    if (block.entries().isEmpty() || block.entries().size() > Limits.BLOCK_ENTRIES) {
      return "a produce block has 1 to "
          + Limits.BLOCK_ENTRIES
          + " entries: entries="
          + block.entries().size();
    }
    if (block.sourceState() instanceof SourceState.External state
        && !state.object().producer().equals(block.producer())) {
      return "source state of another producer: producer=" + state.object().producer();
    }
    long seq = block.firstSeq();
    for (TgbEntry entry : block.entries()) {
      if (entry.seq() != seq || !entry.object().producer().equals(block.producer())) {
        return "entry out of line: producer="
            + entry.object().producer()
            + " seq="
            + entry.seq()
            + " expected producer="
            + block.producer()
            + " seq="
            + seq;
      }
      problem = entry(entry);
      if (problem != null) {
        return problem;
      }
      seq++;
    }
    return null;
  }

  static @Nullable String object(DataObject object) {
    long last = object.lastSeq() - object.firstSeq();
    return first(
        name("producer", object.producer()),
        positive("epoch", object.epoch()),
        notNegative("firstSeq", object.firstSeq()),
        last < 0 || last >= Limits.BLOCK_ENTRIES
            ? "not a range of seqs: firstSeq=" + object.firstSeq() + " lastSeq=" + object.lastSeq()
            : null);
  }

  static @Nullable String sourceState(SourceState state) {
    return switch (state) {
      case SourceState.Inline inline ->
          inline.bytes().length() > Limits.INLINE_SOURCE_STATE_BYTES
              ? "source state too long for a block: bytes="
                  + inline.bytes().length()
                  + " limit="
                  + Limits.INLINE_SOURCE_STATE_BYTES
              : null;
      case SourceState.External external ->
          external.lengthBytes() < 0 || external.lengthBytes() > Limits.SOURCE_STATE_BYTES
              ? "source state too long: bytes="
                  + external.lengthBytes()
                  + " limit="
                  + Limits.SOURCE_STATE_BYTES
              : object(external.object());
    };
  }

  static @Nullable String entry(TgbEntry entry) {
    String problem = object(entry.object());
    if (problem != null) {
      return problem;
    }
    if (entry.seq() < entry.object().firstSeq() || entry.seq() > entry.object().lastSeq()) {
      return "seq outside its object: seq=" + entry.seq() + " object=" + entry.object();
    }
    if (entry.offset() < 0
        || entry.offset() > MAX_OBJECT_BYTES
        || entry.offset() % TgbLayout.ALIGNMENT != 0
        || entry.lengthBytes() < TgbLayout.ALIGNMENT
        || entry.lengthBytes() > MAX_OBJECT_BYTES
        || entry.lengthBytes() % TgbLayout.ALIGNMENT != 0) {
      return "impossible place of a TGB: offset="
          + entry.offset()
          + " lengthBytes="
          + entry.lengthBytes();
    }
    if (entry.footerLengthBytes() < 1
        || entry.footerLengthBytes() > Limits.FOOTER_BYTES
        || entry.footerLengthBytes() > entry.lengthBytes() - TgbLayout.TRAILER_BYTES) {
      return "impossible footer: footerLengthBytes=" + entry.footerLengthBytes();
    }
    if (entry.slices().isEmpty()) {
      return null;
    }
    if (entry.slices().size() > Limits.INLINE_SLICES) {
      return "too many slices in place: slices=" + entry.slices().size();
    }
    return first(
        slices(entry.offset(), entry.slices()),
        tgbLength(entry.lengthBytes(), entry.offset(), entry.slices(), entry.footerLengthBytes()));
  }

  /** Slices lie where the layout puts them and agree on their micro-batches. */
  static @Nullable String slices(long tgbOffset, List<SliceEntry> slices) {
    long offset = tgbOffset;
    for (SliceEntry slice : slices) {
      String problem = slice(slice);
      if (problem != null) {
        return problem;
      }
      if (slice.offset() != offset) {
        return "slice out of place: offset=" + slice.offset() + " expected=" + offset;
      }
      if (slice.microBatches() != slices.getFirst().microBatches()) {
        return "slices differ in micro-batches: "
            + slice.microBatches()
            + " and "
            + slices.getFirst().microBatches();
      }
      offset += slice.lengthBytes() + TgbLayout.paddingAfter(slice.lengthBytes());
    }
    return null;
  }

  static @Nullable String slice(SliceEntry slice) {
    if (slice.lengthBytes() < 0 || slice.lengthBytes() > Limits.SLICE_BYTES) {
      return "slice length out of range: bytes="
          + slice.lengthBytes()
          + " limit="
          + Limits.SLICE_BYTES;
    }
    if (slice.samples() < 0
        || slice.samples() > Limits.SLICE_COUNT
        || slice.tokens() < 0
        || slice.tokens() > Limits.SLICE_COUNT) {
      return "slice counts out of range: samples="
          + slice.samples()
          + " tokens="
          + slice.tokens()
          + " limit="
          + Limits.SLICE_COUNT;
    }
    return notNegative("microBatches", slice.microBatches());
  }

  static @Nullable String tgbLength(
      long lengthBytes, long tgbOffset, List<SliceEntry> slices, int footerLengthBytes) {
    SliceEntry last = slices.getLast();
    long end = last.offset() + last.lengthBytes() - tgbOffset;
    long expected = TgbLayout.lengthBytes(end, footerLengthBytes);
    return lengthBytes == expected
        ? null
        : "length of a TGB differs from its parts: lengthBytes="
            + lengthBytes
            + " expected="
            + expected;
  }

  static @Nullable String origin(String origin) {
    int length = origin.getBytes(StandardCharsets.UTF_8).length;
    return length > Limits.ORIGIN_BYTES
        ? "origin too long: bytes=" + length + " limit=" + Limits.ORIGIN_BYTES
        : null;
  }

  static @Nullable String grid(long dp, long cp) {
    return dp < 1 || cp < 1 || dp > Limits.SLICES || cp > Limits.SLICES || dp * cp > Limits.SLICES
        ? "grid out of range: dp=" + dp + " cp=" + cp + " limit of dp*cp=" + Limits.SLICES
        : null;
  }

  static @Nullable String segment(SegmentRecord segment) {
    if (segment.entries().size() != Limits.SEGMENT_STEPS) {
      return "a segment has "
          + Limits.SEGMENT_STEPS
          + " entries: entries="
          + segment.entries().size();
    }
    return first(notNegative("index", segment.index()), entries(segment.entries()));
  }

  static @Nullable String entries(List<TgbEntry> entries) {
    for (TgbEntry entry : entries) {
      String problem = entry(entry);
      if (problem != null) {
        return problem;
      }
    }
    return null;
  }

  /** The first complaint, or null. */
  static @Nullable String first(@Nullable String... problems) {
    for (String problem : problems) {
      if (problem != null) {
        return problem;
      }
    }
    return null;
  }

  private static String printable(String name) {
    String shown = name.length() > 80 ? name.substring(0, 80) + "…" : name;
    return "'" + shown.replaceAll("[^ -~…]", "?") + "'";
  }
}
