package io.batchweave.format;

/**
 * One slice of a TGB: where it lies and how to know it. Used in the TGB's footer and, up to {@link
 * Limits#INLINE_SLICES} slices, in the manifest entry.
 *
 * @param offset first byte in the data object, a multiple of 64; determined by {@link TgbLayout}
 * @param lengthBytes length in bytes, at most {@link Limits#SLICE_BYTES}
 * @param crc32c checksum (Castagnoli) of the slice's bytes
 * @param microBatches micro-batches, equal for all slices of a TGB
 * @param samples samples in the slice, at most 2^32-2
 * @param tokens tokens in the slice, at most 2^32-2
 */
public record SliceEntry(
    long offset, long lengthBytes, int crc32c, int microBatches, long samples, long tokens) {}
