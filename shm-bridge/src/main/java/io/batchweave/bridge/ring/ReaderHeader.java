package io.batchweave.bridge.ring;

/**
 * What a rank says of itself in its reader file, before its first Hello.
 *
 * @param id the 128 bits of the name
 * @param previous the reader file that this attachment replaces, or {@link Id128#NONE}
 * @param pid process id, for people only
 * @param rank global rank, for people only; -1 unknown
 * @param coordinate where the rank stands in the job's grid
 * @param dpSize data-parallel size of the job
 * @param cpSize context-parallel size of the job
 * @param localReaders ranks of the session on this node
 */
public record ReaderHeader(
    Id128 id,
    Id128 previous,
    int pid,
    int rank,
    Coordinate coordinate,
    int dpSize,
    int cpSize,
    int localReaders) {}
