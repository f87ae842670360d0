package io.batchweave.format;

import io.batchweave.Bytes;
import io.batchweave.format.Envelope.Content;
import io.batchweave.format.sbe.MessageHeaderEncoder;
import io.batchweave.format.sbe.StreamDecoder;
import io.batchweave.format.sbe.StreamEncoder;
import org.agrona.ExpandableArrayBuffer;

/** The object that makes a root a stream. */
public final class StreamCodec {
  /** Capabilities among the low 32 bits that this program knows. */
  private static final long KNOWN_CAPABILITIES = StreamCapabilities.REQUIRED;

  private static final long REQUIRED_CAPABILITIES = 0xFFFF_FFFFL;

  private StreamCodec() {}

  /**
   * Encodes; equal records give equal bytes.
   *
   * @param record what to encode
   */
  public static byte[] encode(StreamDescriptor record) {
    Rules.require(Rules.grid(record.dp(), record.cp()));
    Rules.require(
        record.formatVersion() < 1 || record.formatVersion() > Envelope.FORMAT
            ? "unknown format: formatVersion=" + record.formatVersion()
            : null);
    ExpandableArrayBuffer buffer = new ExpandableArrayBuffer(128);
    StreamEncoder encoder =
        new StreamEncoder().wrapAndApplyHeader(buffer, 0, new MessageHeaderEncoder());
    WireId.put(encoder.streamId(), record.streamId());
    encoder
        .formatVersion(record.formatVersion())
        .dp(record.dp())
        .cp(record.cp())
        .capabilities(record.capabilities());
    return Envelope.seal(Content.STREAM, buffer, encoder.limit());
  }

  /**
   * Decodes.
   *
   * @param object the object's name, for messages
   * @param bytes the whole object
   * @throws io.batchweave.BatchWeaveException CORRUPT, TOO_NEW
   */
  public static StreamDescriptor decode(String object, Bytes bytes) {
    WireBounds bounds = Envelope.open(Content.STREAM, object, bytes);
    int body =
        bounds.message(
            Envelope.HEADER_BYTES,
            StreamDecoder.TEMPLATE_ID,
            StreamDecoder.BLOCK_LENGTH,
            StreamDecoder.SCHEMA_ID,
            StreamDecoder.SCHEMA_VERSION);
    StreamDecoder decoder = new StreamDecoder();
    decoder.wrap(bounds.buffer(), body, StreamDecoder.BLOCK_LENGTH, StreamDecoder.SCHEMA_VERSION);
    bounds.requireEnd(decoder.limit());
    int format = decoder.formatVersion();
    if (format > Envelope.FORMAT) {
      throw bounds.tooNew(body, "stream of format " + format);
    }
    long unknown = decoder.capabilities() & REQUIRED_CAPABILITIES & ~KNOWN_CAPABILITIES;
    if (unknown != 0) {
      throw bounds.tooNew(body, String.format("stream needs unknown capabilities %08x", unknown));
    }
    bounds.accept(body, format < 1 ? "impossible format: formatVersion=" + format : null);
    bounds.accept(body, Rules.grid(decoder.dp(), decoder.cp()));
    return new StreamDescriptor(
        WireId.id(decoder.streamId()),
        format,
        (int) decoder.dp(),
        (int) decoder.cp(),
        decoder.capabilities());
  }
}
