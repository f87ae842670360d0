package io.batchweave.format;

import io.batchweave.Bytes;

/** Announcement objects: one block each. */
@SuppressWarnings("DoNotCallSuggester")
public final class AnnouncementCodec {
  private AnnouncementCodec() {}

  /**
   * Encodes; equal records give equal bytes.
   *
   * @param record what to encode
   */
  public static byte[] encode(Announcement record) {
    throw new UnsupportedOperationException(record.toString());
  }

  /**
   * Decodes.
   *
   * @param object the object's name, for messages
   * @param bytes the whole object
   * @throws io.batchweave.BatchWeaveException CORRUPT, TOO_NEW
   */
  public static Announcement decode(String object, Bytes bytes) {
    throw new UnsupportedOperationException(object + bytes);
  }
}
