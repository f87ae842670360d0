package io.batchweave.format;

import io.batchweave.Bytes;

/** Snapshot objects. */
@SuppressWarnings("DoNotCallSuggester")
public final class SnapshotCodec {
  private SnapshotCodec() {}

  /**
   * Encodes; equal records give equal bytes.
   *
   * @param record what to encode
   */
  public static byte[] encode(SnapshotRecord record) {
    throw new UnsupportedOperationException(record.toString());
  }

  /**
   * Decodes.
   *
   * @param object the object's name, for messages
   * @param bytes the whole object
   * @throws io.batchweave.BatchWeaveException CORRUPT, TOO_NEW
   */
  public static SnapshotRecord decode(String object, Bytes bytes) {
    throw new UnsupportedOperationException(object + bytes);
  }
}
