package io.batchweave.bridge.memory;

/**
 * One thing that limits how much shared memory can still be allocated.
 *
 * @param name what it is, for people
 * @param availableBytes what it still allows
 */
public record HeadroomLimit(String name, long availableBytes) {}
