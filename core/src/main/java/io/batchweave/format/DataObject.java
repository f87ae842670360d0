package io.batchweave.format;

/**
 * The identity of a data object: one or more TGBs of one producer. Its key is {@link
 * ObjectNames#data}.
 *
 * @param producer producer id, a {@linkplain Limits#NAME_PATTERN name part}
 * @param epoch the producer's epoch, from 1
 * @param firstSeq seq of the first TGB in it
 * @param lastSeq seq of the last TGB in it, inclusive
 * @param random 64 random bits that make the name unique
 */
public record DataObject(String producer, int epoch, long firstSeq, long lastSeq, long random) {}
