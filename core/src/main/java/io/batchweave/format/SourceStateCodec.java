package io.batchweave.format;

import io.batchweave.Bytes;
import io.batchweave.format.sbe.ExternalStateDecoder;
import io.batchweave.format.sbe.ExternalStateEncoder;
import io.batchweave.format.sbe.InlineStateDecoder;
import io.batchweave.format.sbe.InlineStateEncoder;
import io.batchweave.format.sbe.MessageHeaderEncoder;
import org.agrona.ExpandableArrayBuffer;

/** A source state: in place, or the object that holds it. */
final class SourceStateCodec {
  private SourceStateCodec() {}

  static byte[] encode(SourceState state) {
    ExpandableArrayBuffer buffer = new ExpandableArrayBuffer(128);
    MessageHeaderEncoder header = new MessageHeaderEncoder();
    int length =
        switch (state) {
          case SourceState.Inline inline -> {
            byte[] bytes = inline.bytes().toByteArray();
            InlineStateEncoder encoder = new InlineStateEncoder();
            encoder.wrapAndApplyHeader(buffer, 0, header).putBytes(bytes, 0, bytes.length);
            yield encoder.limit();
          }
          case SourceState.External external -> {
            DataObject object = external.object();
            ExternalStateEncoder encoder = new ExternalStateEncoder();
            encoder
                .wrapAndApplyHeader(buffer, 0, header)
                .firstSeq(object.firstSeq())
                .random(object.random())
                .lengthBytes(external.lengthBytes())
                .crc32c(external.crc32c())
                .epoch(object.epoch())
                .seqCount((int) (object.lastSeq() - object.firstSeq() + 1))
                .producer(object.producer());
            yield encoder.limit();
          }
        };
    byte[] bytes = new byte[length];
    buffer.getBytes(0, bytes);
    return bytes;
  }

  /** Decodes all of the bounds. */
  static SourceState decode(WireBounds bounds, int at) {
    SourceState state =
        bounds.templateId(at) == ExternalStateDecoder.TEMPLATE_ID
            ? external(bounds, at)
            : inline(bounds, at);
    bounds.accept(at, Rules.sourceState(state));
    return state;
  }

  private static SourceState inline(WireBounds bounds, int at) {
    int body =
        bounds.message(
            at,
            InlineStateDecoder.TEMPLATE_ID,
            InlineStateDecoder.BLOCK_LENGTH,
            InlineStateDecoder.SCHEMA_ID,
            InlineStateDecoder.SCHEMA_VERSION);
    int length = bounds.blob(body, "source state");
    bounds.requireEnd(body + 4 + length);
    if (length > Limits.INLINE_SOURCE_STATE_BYTES) {
      throw bounds.corrupt(body, "source state too long for a block: bytes=" + length);
    }
    byte[] bytes = new byte[length];
    bounds.buffer().getBytes(body + 4, bytes);
    return new SourceState.Inline(Bytes.wrap(bytes));
  }

  private static SourceState external(WireBounds bounds, int at) {
    int body =
        bounds.message(
            at,
            ExternalStateDecoder.TEMPLATE_ID,
            ExternalStateDecoder.BLOCK_LENGTH,
            ExternalStateDecoder.SCHEMA_ID,
            ExternalStateDecoder.SCHEMA_VERSION);
    ExternalStateDecoder decoder = new ExternalStateDecoder();
    decoder.wrap(
        bounds.buffer(),
        body,
        ExternalStateDecoder.BLOCK_LENGTH,
        ExternalStateDecoder.SCHEMA_VERSION);
    String producer = bounds.name(decoder.limit(), "producer");
    bounds.requireEnd(WireBounds.afterName(decoder.limit(), producer));
    long first = decoder.firstSeq();
    return new SourceState.External(
        new DataObject(
            producer, decoder.epoch(), first, first + decoder.seqCount() - 1, decoder.random()),
        decoder.lengthBytes(),
        decoder.crc32c());
  }
}
