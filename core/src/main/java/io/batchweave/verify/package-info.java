/**
 * Checks every invariant of a real stream, object by object. Start with {@link
 * io.batchweave.verify.Verifier}.
 *
 * <table>
 * <caption>What is checked, up to the head that was seen at the start</caption>
 * <tr><th>objects</th><th>how</th></tr>
 * <tr><td>{@code manifest/}</td><td>every version from 1, or from the oldest usable snapshot of a
 * trimmed log, is there, decodes, chains, and folds without breaking {@link
 * io.batchweave.log.Invariants}</td></tr>
 * <tr><td>{@code snapshot/}</td><td>each equals the fold byte for byte; one that a version names is
 * there unless sixteen newer ones are</td></tr>
 * <tr><td>{@code index/}</td><td>each equals the fold's entries byte for byte; those that a snapshot
 * builds on and the horizon has not passed are there</td></tr>
 * <tr><td>{@code data/}</td><td>what a step at or above the horizon names is there with the recorded
 * length, as are the producers' current source states; in depth also every byte: slices, footer and
 * trailer by their checksums</td></tr>
 * </table>
 *
 * <p>A <b>finding</b> is something that cannot be in a sound stream. A <b>note</b> can: objects
 * that nothing names (uploads that were never committed, or not yet; what reclaim has still to
 * delete). Where the log is damaged it goes on at the next snapshot and says what it could not
 * judge.
 *
 * <p>A <b>void version</b> is a finding. A writer, a zombie too, creates version v+1 from the bytes
 * of v that it has folded; as long as a key is created once and its bytes stay, everybody has
 * folded the same ones, and a create against an old head finds its key taken. No simulated history
 * has one unless a bug is planted ({@code simulate.Promise#NO_VOID_VERSION}). It shows that bytes
 * of the log were changed, or that two writers created one key; and what was acknowledged of its
 * blocks, or against the bytes that were there before, is not in the stream any more.
 *
 * <p>Safe beside live producers, snapshot writers and collectors: it only reads, it judges nothing
 * beyond the head it saw first, and it takes nothing for missing that they may have deleted since.
 * Memory does not grow with the number of versions; of the objects named it keeps 8 bytes each.
 *
 * <p>Blocks the calling thread; objects are looked at on a few threads of its own. Uses {@code
 * store}, {@code format}, {@code log} and {@code client}.
 */
package io.batchweave.verify;
