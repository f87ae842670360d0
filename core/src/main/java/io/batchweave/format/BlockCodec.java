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
import io.batchweave.format.sbe.EndSessionEncoder;
import io.batchweave.format.sbe.FenceEncoder;
import io.batchweave.format.sbe.MessageHeaderEncoder;
import io.batchweave.format.sbe.OpenSessionEncoder;
import io.batchweave.format.sbe.OperatorPinEncoder;
import io.batchweave.format.sbe.PinEncoder;
import io.batchweave.format.sbe.ProduceEncoder;
import io.batchweave.format.sbe.ReclaimEncoder;
import io.batchweave.format.sbe.RetireEncoder;
import io.batchweave.format.sbe.SealStreamEncoder;
import io.batchweave.format.sbe.SkipEncoder;
import io.batchweave.format.sbe.UnpinEncoder;
import org.agrona.ExpandableArrayBuffer;

/**
 * Blocks as they stand in versions and announcements: one message each, complete with its header,
 * so that a block is copied from one to the other as it is. Equal blocks have equal bytes.
 */
final class BlockCodec {
  private BlockCodec() {}

  static byte[] encode(Block block) {
    Rules.require(Rules.block(block));
    ExpandableArrayBuffer buffer = new ExpandableArrayBuffer(512);
    int length = encode(block, buffer);
    if (length > Limits.BLOCK_BYTES) {
      throw new BatchWeaveException(
          Kind.LIMIT,
          "block too long: bytes="
              + length
              + " limit="
              + Limits.BLOCK_BYTES
              + "; commit fewer batches at a time or keep the source state in an object");
    }
    byte[] bytes = new byte[length];
    buffer.getBytes(0, bytes);
    return bytes;
  }

  private static int encode(Block block, ExpandableArrayBuffer to) {
    MessageHeaderEncoder header = new MessageHeaderEncoder();
    return switch (block) {
      case Fence b -> {
        FenceEncoder encoder = new FenceEncoder().wrapAndApplyHeader(to, 0, header);
        WireId.put(encoder.epoch(b.epoch()).incarnation(), b.incarnation());
        yield encoder.producer(b.producer()).limit();
      }
      case Produce b -> produce(b, to, header);
      case Retire b ->
          new RetireEncoder()
              .wrapAndApplyHeader(to, 0, header)
              .baseVersion(b.base())
              .producer(b.producer())
              .limit();
      case OpenSession b -> openSession(b, to, header);
      case EndSession b ->
          new EndSessionEncoder()
              .wrapAndApplyHeader(to, 0, header)
              .baseVersion(b.base())
              .group(b.group())
              .sessionId(b.sessionId())
              .limit();
      case Pin b ->
          new PinEncoder()
              .wrapAndApplyHeader(to, 0, header)
              .step(b.step())
              .keep(b.keep())
              .view(b.view())
              .group(b.group())
              .sessionId(b.sessionId())
              .pinId(b.id())
              .limit();
      case OperatorPin b ->
          new OperatorPinEncoder()
              .wrapAndApplyHeader(to, 0, header)
              .step(b.step())
              .baseVersion(b.base())
              .group(b.group())
              .pinId(b.id())
              .limit();
      case Unpin b ->
          new UnpinEncoder()
              .wrapAndApplyHeader(to, 0, header)
              .baseVersion(b.base())
              .group(b.group())
              .pinId(b.id())
              .limit();
      case Skip b ->
          new SkipEncoder()
              .wrapAndApplyHeader(to, 0, header)
              .from(b.from())
              .to(b.to())
              .baseVersion(b.base())
              .limit();
      case Reclaim b ->
          new ReclaimEncoder()
              .wrapAndApplyHeader(to, 0, header)
              .step(b.step())
              .baseVersion(b.base())
              .limit();
      case Seal b -> new SealStreamEncoder().wrapAndApplyHeader(to, 0, header).limit();
    };
  }

  private static int produce(Produce b, ExpandableArrayBuffer to, MessageHeaderEncoder header) {
    byte[] state = SourceStateCodec.encode(b.sourceState());
    byte[] entries = EntriesCodec.encode(b.entries());
    return new ProduceEncoder()
        .wrapAndApplyHeader(to, 0, header)
        .firstSeq(b.firstSeq())
        .epoch(b.epoch())
        .producer(b.producer())
        .putSourceState(state, 0, state.length)
        .putEntries(entries, 0, entries.length)
        .limit();
  }

  private static int openSession(
      OpenSession b, ExpandableArrayBuffer to, MessageHeaderEncoder header) {
    return new OpenSessionEncoder()
        .wrapAndApplyHeader(to, 0, header)
        .startStep(b.startStep())
        .baseVersion(b.base())
        .takeover(
            b.takeover() == Block.Takeover.SUPERSEDE
                ? io.batchweave.format.sbe.Takeover.SUPERSEDE
                : io.batchweave.format.sbe.Takeover.REFUSE)
        .group(b.group())
        .sessionId(b.sessionId())
        .limit();
  }
}
