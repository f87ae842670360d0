package io.batchweave.format;

import java.util.UUID;

/**
 * The header of a manifest version: where it stands in the log and what its committer had folded.
 *
 * @param streamId the stream's id
 * @param version this version, from 1
 * @param commitId random, unique to this attempt to commit
 * @param parentCommitId commitId of the version before; the stream id for version 1
 * @param nextStep of the state before this version
 * @param horizon of the state before this version
 * @param runningHash of the state before this version
 * @param newestSnapshot version of the newest snapshot its committer knew, 0 if none
 * @param paceMillis the committer's interval between versions
 */
public record VersionHeader(
    UUID streamId,
    long version,
    UUID commitId,
    UUID parentCommitId,
    long nextStep,
    long horizon,
    UUID runningHash,
    long newestSnapshot,
    int paceMillis) {}
