package io.batchweave.format;

import java.util.List;
import java.util.UUID;

/**
 * One decoded object of the manifest log.
 *
 * @param header where it stands
 * @param blocks in the order in which they apply
 * @param digest first 128 bits of the SHA-256 of the object's bytes; feeds the running hash
 * @param sizeBytes length of the object
 */
public record ManifestVersion(
    VersionHeader header, List<Block> blocks, UUID digest, int sizeBytes) {
  /** Copies the list. */
  public ManifestVersion {
    blocks = List.copyOf(blocks);
  }
}
