/**
 * Everything that extends the log: one version at a time, by whoever creates the next number first.
 *
 * <p>Start with {@link io.batchweave.commit.CommitMachine}. It knows the log through {@link
 * io.batchweave.log.LogFollower}, decides when to act through {@link
 * io.batchweave.commit.CommitPolicy}, and is embedded by producers and by {@link
 * io.batchweave.commit.ProposalMachine}, which gets a single block decided. May depend on {@code
 * store}, {@code format} and {@code log}. No threads: one thread drives a machine.
 *
 * <h2>The commit loop (normative)</h2>
 *
 * <pre>
 *            work                  head known            slot reached
 *   IDLE ----------> LOOK ----------------------> SLOT ---------------> PUT manifest/&lt;v+1&gt;
 *                     ^                                                  |  create-if-absent
 *                     |   anything but CREATED: says nothing             |
 *                     +--------------------------------------------------+
 *                                                                        |  CREATED
 *                                                 fold the own bytes &lt;---+
 * </pre>
 *
 * <ol>
 *   <li><b>Look</b>: read on until GET of the next version finds nothing.
 *   <li><b>Build</b>: header of the state at the head, with a random commit id for this attempt;
 *       then those offered blocks that the fold would accept in this order, none split, to {@link
 *       io.batchweave.format.Limits#VERSION_BYTES}.
 *   <li><b>Create</b> version v+1 if it does not exist. Sent once: nothing below repeats it.
 *   <li><b>Judge</b>: success of a block is judged in the fold, never by an answer.
 * </ol>
 *
 * <table>
 *   <caption>What an answer to the create means</caption>
 *   <tr><th>answer</th><th>then</th></tr>
 *   <tr><td>CREATED</td><td>these very bytes are version v+1: fold them without reading</td></tr>
 *   <tr><td>EXISTS</td><td>read on; the version there may still be one's own</td></tr>
 *   <tr><td>UNCLEAR, THROTTLED, no answer</td><td>back off, read on; it may land later</td></tr>
 *   <tr><td>CONFLICT (409)</td><td>read on; the key may be empty: the same version again</td></tr>
 *   <tr><td>refused (credentials, settings, space)</td><td>as UNCLEAR; after {@value
 *       io.batchweave.commit.CommitMachine#MAX_REFUSALS} in a row the machine stops</td></tr>
 * </table>
 *
 * <p>Nothing is cleaned up after an unclear outcome, by anybody, ever. Offering a block again is
 * harmless: base, epoch or seq let every block take effect at most once. A block that was written
 * is reported as refused only when {@link io.batchweave.log.Fold#outlook} says NEVER; until then
 * its outcome is unknown. A version of one's own that the fold finds void means that this process
 * has folded other bytes than the store holds: it stops with CORRUPT.
 *
 * <p><b>Snapshots</b>: whoever created a version at which one is due writes it beside the loop;
 * past {@link io.batchweave.log.SnapshotPolicy#BLOCKING_VERSIONS} versions without one it comes
 * before the next commit.
 *
 * <p><b>Pace</b>: at most {@value io.batchweave.commit.CommitPolicy#MAX_VERSIONS_PER_SECOND}
 * versions per second, and active owners × versions/s at most {@value
 * io.batchweave.commit.CommitPolicy#MAX_READS_PER_SECOND}, but never slower than one per second.
 */
package io.batchweave.commit;
