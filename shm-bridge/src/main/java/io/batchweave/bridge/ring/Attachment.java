package io.batchweave.bridge.ring;

/**
 * Which generation a reader reads, from which n on.
 *
 * @param ringNumber the ring
 * @param generation the number in the control file's name
 * @param generationId the id in its header
 * @param firstN everything below counts as acked
 */
public record Attachment(int ringNumber, long generation, Id128 generationId, long firstN) {}
