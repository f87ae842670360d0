package io.batchweave.format;

import io.batchweave.Bytes;

/** Segment objects. */
@SuppressWarnings("DoNotCallSuggester")
public final class SegmentCodec {
  private SegmentCodec() {}

  /**
   * Encodes; equal records give equal bytes.
   *
   * @param record what to encode
   */
  public static byte[] encode(SegmentRecord record) {
    throw new UnsupportedOperationException(record.toString());
  }

  /**
   * Decodes.
   *
   * @param object the object's name, for messages
   * @param bytes the whole object
   * @throws io.batchweave.BatchWeaveException CORRUPT, TOO_NEW
   */
  public static SegmentRecord decode(String object, Bytes bytes) {
    throw new UnsupportedOperationException(object + bytes);
  }
}
