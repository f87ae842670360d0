package io.batchweave.store;

/**
 * What a HEAD tells.
 *
 * @param sizeBytes length of the object in bytes
 * @param etag opaque; changes with the bytes; empty where the store has none
 */
public record ObjectInfo(long sizeBytes, String etag) {}
