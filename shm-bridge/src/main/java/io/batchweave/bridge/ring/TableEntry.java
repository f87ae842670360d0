package io.batchweave.bridge.ring;

/**
 * One slice of a region.
 *
 * @param coordinate in the stream's grid
 * @param offset first byte from the start of the region, a multiple of 64
 * @param lengthBytes bytes of the slice
 * @param crc32c checksum (Castagnoli) of those bytes
 * @param microBatches micro-batches of the slice
 * @param samples samples of the slice
 * @param tokens tokens of the slice
 */
public record TableEntry(
    Coordinate coordinate,
    long offset,
    long lengthBytes,
    int crc32c,
    int microBatches,
    long samples,
    long tokens) {}
