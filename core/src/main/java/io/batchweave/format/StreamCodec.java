package io.batchweave.format;

import io.batchweave.Bytes;

/** The object that makes a root a stream. */
@SuppressWarnings("DoNotCallSuggester")
public final class StreamCodec {
  private StreamCodec() {}

  /**
   * Encodes; equal records give equal bytes.
   *
   * @param record what to encode
   */
  public static byte[] encode(StreamDescriptor record) {
    throw new UnsupportedOperationException(record.toString());
  }

  /**
   * Decodes.
   *
   * @param object the object's name, for messages
   * @param bytes the whole object
   * @throws io.batchweave.BatchWeaveException CORRUPT, TOO_NEW
   */
  public static StreamDescriptor decode(String object, Bytes bytes) {
    throw new UnsupportedOperationException(object + bytes);
  }
}
