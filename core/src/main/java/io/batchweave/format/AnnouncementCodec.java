package io.batchweave.format;

import io.batchweave.Bytes;
import io.batchweave.format.Envelope.Content;
import io.batchweave.format.sbe.AnnouncementDecoder;
import io.batchweave.format.sbe.AnnouncementEncoder;
import io.batchweave.format.sbe.MessageHeaderEncoder;
import org.agrona.ExpandableArrayBuffer;

/** Announcement objects: one block each, the same bytes as in the version that takes it. */
public final class AnnouncementCodec {
  private AnnouncementCodec() {}

  /**
   * Encodes; equal records give equal bytes.
   *
   * @param record what to encode
   */
  public static byte[] encode(Announcement record) {
    byte[] block = BlockCodec.encode(record.block());
    ExpandableArrayBuffer buffer = new ExpandableArrayBuffer(64 + block.length);
    AnnouncementEncoder encoder =
        new AnnouncementEncoder().wrapAndApplyHeader(buffer, 0, new MessageHeaderEncoder());
    WireId.put(encoder.streamId(), record.streamId());
    encoder.putBlock(block, 0, block.length);
    return Envelope.seal(Content.ANNOUNCEMENT, buffer, encoder.limit());
  }

  /**
   * Decodes.
   *
   * @param object the object's name, for messages
   * @param bytes the whole object
   * @throws io.batchweave.BatchWeaveException CORRUPT, TOO_NEW
   */
  public static Announcement decode(String object, Bytes bytes) {
    WireBounds bounds = Envelope.open(Content.ANNOUNCEMENT, object, bytes);
    int body =
        bounds.message(
            Envelope.HEADER_BYTES,
            AnnouncementDecoder.TEMPLATE_ID,
            AnnouncementDecoder.BLOCK_LENGTH,
            AnnouncementDecoder.SCHEMA_ID,
            AnnouncementDecoder.SCHEMA_VERSION);
    AnnouncementDecoder decoder = new AnnouncementDecoder();
    decoder.wrap(
        bounds.buffer(),
        body,
        AnnouncementDecoder.BLOCK_LENGTH,
        AnnouncementDecoder.SCHEMA_VERSION);
    int length = bounds.blob(decoder.limit(), "block");
    int start = decoder.limit() + 4;
    bounds.requireEnd(start + length);
    return new Announcement(
        WireId.id(decoder.streamId()), BlockDecoder.decode(bounds.part(start, length), start));
  }
}
