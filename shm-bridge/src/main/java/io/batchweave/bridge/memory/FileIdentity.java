package io.batchweave.bridge.memory;

/**
 * Which file it is, whatever its name.
 *
 * @param device the file system
 * @param inode the file in it
 */
public record FileIdentity(long device, long inode) {}
