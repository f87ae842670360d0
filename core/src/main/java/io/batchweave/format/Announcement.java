package io.batchweave.format;

import java.util.UUID;

/**
 * One block that is ready for whoever commits next.
 *
 * @param streamId the stream it is meant for
 * @param block the block
 */
public record Announcement(UUID streamId, Block block) {}
