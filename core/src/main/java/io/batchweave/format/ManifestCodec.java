package io.batchweave.format;

import io.batchweave.Bytes;
import java.util.List;

/** Manifest version objects. */
@SuppressWarnings("DoNotCallSuggester")
public final class ManifestCodec {
  private ManifestCodec() {}

  /**
   * Encodes a version.
   *
   * @param header where it stands
   * @param blocks in the order in which they apply
   * @throws io.batchweave.BatchWeaveException LIMIT if the object would be too long
   */
  public static byte[] encode(VersionHeader header, List<Block> blocks) {
    throw new UnsupportedOperationException(header.toString() + blocks);
  }

  /**
   * Decodes a version.
   *
   * @param object the object's name, for messages
   * @param bytes the whole object
   * @throws io.batchweave.BatchWeaveException CORRUPT, TOO_NEW
   */
  public static ManifestVersion decode(String object, Bytes bytes) {
    throw new UnsupportedOperationException(object + bytes);
  }

  /**
   * What a block adds to the length of a version object; a version without blocks has {@link
   * #EMPTY_VERSION_BYTES}.
   *
   * @param block the block
   * @throws io.batchweave.BatchWeaveException LIMIT if it is longer than {@link Limits#BLOCK_BYTES}
   */
  public static int encodedLength(Block block) {
    throw new UnsupportedOperationException(block.toString());
  }

  /** Length of a version object without blocks. */
  public static final int EMPTY_VERSION_BYTES = 256;

  /**
   * Whether the object was trimmed: an empty object still holds its number, for ever.
   *
   * @param bytes the whole object
   */
  public static boolean isTombstone(Bytes bytes) {
    return bytes.length() == 0;
  }
}
