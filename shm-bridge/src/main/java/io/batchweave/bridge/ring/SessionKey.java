package io.batchweave.bridge.ring;

/**
 * One launch of a training job, as a ring tells it from others. All ranks agree on every part.
 *
 * @param streamId the stream's UUID
 * @param group the training job
 * @param session the launch
 * @param dpSize data-parallel size of the job
 * @param cpSize context-parallel size of the job
 */
public record SessionKey(Id128 streamId, String group, String session, int dpSize, int cpSize) {}
