package io.batchweave.format;

import io.batchweave.format.sbe.EndSessionDecoder;
import io.batchweave.format.sbe.FenceDecoder;
import io.batchweave.format.sbe.OpenSessionDecoder;
import io.batchweave.format.sbe.OperatorPinDecoder;
import io.batchweave.format.sbe.PinDecoder;
import io.batchweave.format.sbe.ProduceDecoder;
import io.batchweave.format.sbe.ReclaimDecoder;
import io.batchweave.format.sbe.RetireDecoder;
import io.batchweave.format.sbe.SealStreamDecoder;
import io.batchweave.format.sbe.SkipDecoder;
import io.batchweave.format.sbe.UnpinDecoder;
import java.util.List;

/** Reads one block; the other half of {@link BlockCodec}. */
final class BlockDecoder {
  private static final int SCHEMA = FenceDecoder.SCHEMA_ID;
  private static final int VERSION = FenceDecoder.SCHEMA_VERSION;

  private final WireBounds bounds;
  private final int start;
  private int at;

  private BlockDecoder(WireBounds bounds, int start) {
    this.bounds = bounds;
    this.start = start;
  }

  /** Decodes all of the bounds. */
  static Block decode(WireBounds bounds, int start) {
    if (bounds.end() - start > Limits.BLOCK_BYTES) {
      throw bounds.corrupt(start, "block too long: bytes=" + (bounds.end() - start));
    }
    BlockDecoder decoder = new BlockDecoder(bounds, start);
    Block block = decoder.block();
    bounds.requireEnd(decoder.at);
    bounds.accept(start, Rules.block(block));
    return block;
  }

  private Block block() {
    int templateId = bounds.templateId(start);
    return switch (templateId) {
      case FenceDecoder.TEMPLATE_ID -> fence();
      case ProduceDecoder.TEMPLATE_ID -> produce();
      case RetireDecoder.TEMPLATE_ID -> retire();
      case OpenSessionDecoder.TEMPLATE_ID -> openSession();
      case EndSessionDecoder.TEMPLATE_ID -> endSession();
      case PinDecoder.TEMPLATE_ID -> pin();
      case OperatorPinDecoder.TEMPLATE_ID -> operatorPin();
      case UnpinDecoder.TEMPLATE_ID -> unpin();
      case SkipDecoder.TEMPLATE_ID -> skip();
      case ReclaimDecoder.TEMPLATE_ID -> reclaim();
      case SealStreamDecoder.TEMPLATE_ID -> {
        fixed(SealStreamDecoder.TEMPLATE_ID, SealStreamDecoder.BLOCK_LENGTH);
        yield new Block.Seal();
      }
      default -> throw bounds.tooNew(start + 2, "unknown kind of block " + templateId);
    };
  }

  /** Checks header and fixed part; answers where the fixed part begins. */
  private int fixed(int templateId, int blockLength) {
    int body = bounds.message(start, templateId, blockLength, SCHEMA, VERSION);
    at = body + blockLength;
    return body;
  }

  private String name(String what) {
    String name = bounds.name(at, what);
    at = WireBounds.afterName(at, name);
    return name;
  }

  private Block fence() {
    int body = fixed(FenceDecoder.TEMPLATE_ID, FenceDecoder.BLOCK_LENGTH);
    FenceDecoder decoder = new FenceDecoder();
    decoder.wrap(bounds.buffer(), body, FenceDecoder.BLOCK_LENGTH, VERSION);
    return new Block.Fence(name("producer"), decoder.epoch(), WireId.id(decoder.incarnation()));
  }

  private Block produce() {
    int body = fixed(ProduceDecoder.TEMPLATE_ID, ProduceDecoder.BLOCK_LENGTH);
    ProduceDecoder decoder = new ProduceDecoder();
    decoder.wrap(bounds.buffer(), body, ProduceDecoder.BLOCK_LENGTH, VERSION);
    String producer = name("producer");
    int stateLength = bounds.blob(at, "source state");
    SourceState state = SourceStateCodec.decode(bounds.part(at + 4, stateLength), at + 4);
    at += 4 + stateLength;
    int entriesLength = bounds.blob(at, "entries");
    List<TgbEntry> entries =
        EntriesCodec.decode(bounds.part(at + 4, entriesLength), at + 4, Limits.BLOCK_ENTRIES);
    at += 4 + entriesLength;
    return new Block.Produce(producer, decoder.epoch(), decoder.firstSeq(), entries, state);
  }

  private Block retire() {
    int body = fixed(RetireDecoder.TEMPLATE_ID, RetireDecoder.BLOCK_LENGTH);
    RetireDecoder decoder = new RetireDecoder();
    decoder.wrap(bounds.buffer(), body, RetireDecoder.BLOCK_LENGTH, VERSION);
    return new Block.Retire(name("producer"), decoder.baseVersion());
  }

  private Block openSession() {
    int body = fixed(OpenSessionDecoder.TEMPLATE_ID, OpenSessionDecoder.BLOCK_LENGTH);
    OpenSessionDecoder decoder = new OpenSessionDecoder();
    decoder.wrap(bounds.buffer(), body, OpenSessionDecoder.BLOCK_LENGTH, VERSION);
    String group = name("group");
    String sessionId = name("sessionId");
    Block.Takeover takeover =
        switch (decoder.takeoverRaw()) {
          case 0 -> Block.Takeover.REFUSE;
          case 1 -> Block.Takeover.SUPERSEDE;
          default -> throw bounds.corrupt(body, "takeover is neither 0 nor 1");
        };
    return new Block.OpenSession(
        group, sessionId, decoder.startStep(), takeover, decoder.baseVersion());
  }

  private Block endSession() {
    int body = fixed(EndSessionDecoder.TEMPLATE_ID, EndSessionDecoder.BLOCK_LENGTH);
    EndSessionDecoder decoder = new EndSessionDecoder();
    decoder.wrap(bounds.buffer(), body, EndSessionDecoder.BLOCK_LENGTH, VERSION);
    return new Block.EndSession(name("group"), name("sessionId"), decoder.baseVersion());
  }

  private Block pin() {
    int body = fixed(PinDecoder.TEMPLATE_ID, PinDecoder.BLOCK_LENGTH);
    PinDecoder decoder = new PinDecoder();
    decoder.wrap(bounds.buffer(), body, PinDecoder.BLOCK_LENGTH, VERSION);
    return new Block.Pin(
        name("group"),
        name("sessionId"),
        decoder.view(),
        name("id"),
        decoder.step(),
        decoder.keep());
  }

  private Block operatorPin() {
    int body = fixed(OperatorPinDecoder.TEMPLATE_ID, OperatorPinDecoder.BLOCK_LENGTH);
    OperatorPinDecoder decoder = new OperatorPinDecoder();
    decoder.wrap(bounds.buffer(), body, OperatorPinDecoder.BLOCK_LENGTH, VERSION);
    return new Block.OperatorPin(name("group"), name("id"), decoder.step(), decoder.baseVersion());
  }

  private Block unpin() {
    int body = fixed(UnpinDecoder.TEMPLATE_ID, UnpinDecoder.BLOCK_LENGTH);
    UnpinDecoder decoder = new UnpinDecoder();
    decoder.wrap(bounds.buffer(), body, UnpinDecoder.BLOCK_LENGTH, VERSION);
    return new Block.Unpin(name("group"), name("id"), decoder.baseVersion());
  }

  private Block skip() {
    int body = fixed(SkipDecoder.TEMPLATE_ID, SkipDecoder.BLOCK_LENGTH);
    SkipDecoder decoder = new SkipDecoder();
    decoder.wrap(bounds.buffer(), body, SkipDecoder.BLOCK_LENGTH, VERSION);
    return new Block.Skip(decoder.from(), decoder.to(), decoder.baseVersion());
  }

  private Block reclaim() {
    int body = fixed(ReclaimDecoder.TEMPLATE_ID, ReclaimDecoder.BLOCK_LENGTH);
    ReclaimDecoder decoder = new ReclaimDecoder();
    decoder.wrap(bounds.buffer(), body, ReclaimDecoder.BLOCK_LENGTH, VERSION);
    return new Block.Reclaim(decoder.step(), decoder.baseVersion());
  }
}
