package io.batchweave.store;

/**
 * One line of a LIST.
 *
 * @param key the key, relative to the store's root, as it is passed to GET
 * @param sizeBytes length of the object in bytes
 */
public record ListedObject(String key, long sizeBytes) {}
