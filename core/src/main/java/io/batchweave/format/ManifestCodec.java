package io.batchweave.format;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Envelope.Content;
import io.batchweave.format.sbe.MessageHeaderEncoder;
import io.batchweave.format.sbe.VersionDecoder;
import io.batchweave.format.sbe.VersionEncoder;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.agrona.ExpandableArrayBuffer;

/**
 * Manifest version objects: header, then blocks, each an opaque unit behind its length. An object
 * under a good checksum with one undecodable block is CORRUPT as a whole; a block of an unknown
 * kind is TOO_NEW.
 */
public final class ManifestCodec {
  private static final int BLOCK_PREFIX_BYTES = 4;

  /** Length of a version object without blocks. */
  public static final int EMPTY_VERSION_BYTES =
      Envelope.HEADER_BYTES + WireBounds.HEADER_BYTES + VersionDecoder.BLOCK_LENGTH + 6;

  private ManifestCodec() {}

  /**
   * Encodes a version.
   *
   * @param header where it stands
   * @param blocks in the order in which they apply
   * @throws BatchWeaveException LIMIT if the object would be longer than {@link
   *     Limits#VERSION_BYTES} or a block than {@link Limits#BLOCK_BYTES}; CONFIG if a record holds
   *     what no reader would accept
   */
  public static byte[] encode(VersionHeader header, List<Block> blocks) {
    Rules.require(Rules.header(header));
    if (blocks.size() > Limits.VERSION_BLOCKS) {
      throw new BatchWeaveException(
          Kind.LIMIT,
          "too many blocks for a version: blocks="
              + blocks.size()
              + " limit="
              + Limits.VERSION_BLOCKS);
    }
    ExpandableArrayBuffer buffer = new ExpandableArrayBuffer(1024);
    VersionEncoder encoder =
        new VersionEncoder().wrapAndApplyHeader(buffer, 0, new MessageHeaderEncoder());
    WireId.put(encoder.streamId(), header.streamId());
    encoder.version(header.version());
    WireId.put(encoder.commitId(), header.commitId());
    WireId.put(encoder.parentCommitId(), header.parentCommitId());
    encoder.nextStep(header.nextStep()).horizon(header.horizon());
    WireId.put(encoder.runningHash(), header.runningHash());
    encoder.newestSnapshot(header.newestSnapshot()).paceMillis(header.paceMillis());
    VersionEncoder.BlocksEncoder group = encoder.blocksCount(blocks.size());
    for (Block block : blocks) {
      byte[] bytes = BlockCodec.encode(block);
      group.next().putBlock(bytes, 0, bytes.length);
    }
    return Envelope.seal(Content.VERSION, buffer, encoder.limit());
  }

  /**
   * Decodes a version.
   *
   * @param object the object's name, for messages
   * @param bytes the whole object
   * @throws BatchWeaveException CORRUPT, TOO_NEW
   */
  public static ManifestVersion decode(String object, Bytes bytes) {
    WireBounds bounds = Envelope.open(Content.VERSION, object, bytes);
    int body =
        bounds.message(
            Envelope.HEADER_BYTES,
            VersionDecoder.TEMPLATE_ID,
            VersionDecoder.BLOCK_LENGTH,
            VersionDecoder.SCHEMA_ID,
            VersionDecoder.SCHEMA_VERSION);
    VersionDecoder decoder = new VersionDecoder();
    decoder.wrap(bounds.buffer(), body, VersionDecoder.BLOCK_LENGTH, VersionDecoder.SCHEMA_VERSION);
    VersionHeader header =
        new VersionHeader(
            WireId.id(decoder.streamId()),
            decoder.version(),
            WireId.id(decoder.commitId()),
            WireId.id(decoder.parentCommitId()),
            decoder.nextStep(),
            decoder.horizon(),
            WireId.id(decoder.runningHash()),
            decoder.newestSnapshot(),
            decoder.paceMillis());
    bounds.accept(body, Rules.header(header));
    int count =
        bounds.group(decoder.limit(), 0, BLOCK_PREFIX_BYTES, Limits.VERSION_BLOCKS, "blocks");
    List<Block> blocks = new ArrayList<>(count);
    int at = decoder.limit() + 6;
    for (int i = 0; i < count; i++) {
      int length = bounds.blob(at, "block");
      int start = at + BLOCK_PREFIX_BYTES;
      blocks.add(BlockDecoder.decode(bounds.part(start, length), start));
      at = start + length;
    }
    bounds.requireEnd(at);
    return new ManifestVersion(header, blocks, digest(bytes), bytes.length());
  }

  /**
   * What a block adds to the length of a version object; a version without blocks has {@link
   * #EMPTY_VERSION_BYTES}.
   *
   * @param block the block
   * @throws BatchWeaveException LIMIT if it is longer than {@link Limits#BLOCK_BYTES}
   */
  public static int encodedLength(Block block) {
    return BLOCK_PREFIX_BYTES + BlockCodec.encode(block).length;
  }

  /**
   * What one more TGB of an object that a block already names adds to the block.
   *
   * @param slices of the TGB
   */
  public static int entryLength(int slices) {
    return EntriesCodec.entryLength(slices);
  }

  /**
   * What one more object adds to a block.
   *
   * @param producer whose object
   */
  public static int objectLength(String producer) {
    return EntriesCodec.objectLength(producer);
  }

  /**
   * Whether the object was trimmed: an empty object still holds its number, for ever.
   *
   * @param bytes the whole object
   */
  public static boolean isTombstone(Bytes bytes) {
    return bytes.length() == 0;
  }

  private static UUID digest(Bytes bytes) {
    try {
      MessageDigest sha = MessageDigest.getInstance("SHA-256");
      sha.update(bytes.asByteBuffer());
      ByteBuffer hash = ByteBuffer.wrap(sha.digest());
      return new UUID(hash.getLong(), hash.getLong());
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }
}
