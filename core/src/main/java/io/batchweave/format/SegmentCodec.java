package io.batchweave.format;

import io.batchweave.Bytes;
import io.batchweave.format.Envelope.Content;
import io.batchweave.format.sbe.MessageHeaderEncoder;
import io.batchweave.format.sbe.SegmentDecoder;
import io.batchweave.format.sbe.SegmentEncoder;
import java.util.List;
import org.agrona.ExpandableArrayBuffer;

/** Segment objects; their bytes are determined by the log. */
public final class SegmentCodec {
  private SegmentCodec() {}

  /**
   * Encodes; equal records give equal bytes.
   *
   * @param record what to encode
   */
  public static byte[] encode(SegmentRecord record) {
    Rules.require(Rules.segment(record));
    byte[] entries = EntriesCodec.encode(record.entries());
    ExpandableArrayBuffer buffer = new ExpandableArrayBuffer(64 + entries.length);
    SegmentEncoder encoder =
        new SegmentEncoder().wrapAndApplyHeader(buffer, 0, new MessageHeaderEncoder());
    WireId.put(encoder.streamId(), record.streamId());
    encoder.index(record.index()).putEntries(entries, 0, entries.length);
    return Envelope.seal(Content.SEGMENT, buffer, encoder.limit());
  }

  /**
   * Decodes.
   *
   * @param object the object's name, for messages
   * @param bytes the whole object
   * @throws io.batchweave.BatchWeaveException CORRUPT, TOO_NEW
   */
  public static SegmentRecord decode(String object, Bytes bytes) {
    WireBounds bounds = Envelope.open(Content.SEGMENT, object, bytes);
    int body =
        bounds.message(
            Envelope.HEADER_BYTES,
            SegmentDecoder.TEMPLATE_ID,
            SegmentDecoder.BLOCK_LENGTH,
            SegmentDecoder.SCHEMA_ID,
            SegmentDecoder.SCHEMA_VERSION);
    SegmentDecoder decoder = new SegmentDecoder();
    decoder.wrap(bounds.buffer(), body, SegmentDecoder.BLOCK_LENGTH, SegmentDecoder.SCHEMA_VERSION);
    int length = bounds.blob(decoder.limit(), "entries");
    int start = decoder.limit() + 4;
    bounds.requireEnd(start + length);
    List<TgbEntry> entries =
        EntriesCodec.decode(bounds.part(start, length), start, Limits.SEGMENT_STEPS);
    SegmentRecord record =
        new SegmentRecord(WireId.id(decoder.streamId()), decoder.index(), entries);
    bounds.accept(body, Rules.segment(record));
    return record;
  }
}
