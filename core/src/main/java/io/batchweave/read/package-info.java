/**
 * Readers: what a step is, which bytes a rank needs of it, and where to resume.
 *
 * <p>Start with {@link io.batchweave.read.ReaderMachine}, which describes the steps of a window,
 * {@link io.batchweave.read.SlicePlan}, which turns places in the grid into byte ranges, and {@link
 * io.batchweave.read.Token}, whose bytes this package owns. May depend on {@code store}, {@code
 * format}, {@code log}. No threads: one thread drives a machine; the rest are values.
 *
 * <h2>What is known of a step (normative)</h2>
 *
 * <table>
 *   <caption>Answers of {@code lookup(step)}, the first row that applies</caption>
 *   <tr><th>where the step lies</th><th>answer</th></tr>
 *   <tr><td>below the horizon</td><td>RECLAIMED(horizon), never a raw 404</td></tr>
 *   <tr><td>at or above nextStep, sealed</td><td>END(nextStep)</td></tr>
 *   <tr><td>at or above nextStep</td><td>NOT_YET: wait</td></tr>
 *   <tr><td>committed, segment or footer not read yet</td><td>LOADING: ask again</td></tr>
 *   <tr><td>committed, its footer is damaged or its object gone</td><td>FAILED: this step only</td></tr>
 *   <tr><td>committed</td><td>READY(entry with the complete slice table)</td></tr>
 * </table>
 *
 * <p>Entries come from the fold at the live edge, from segments behind it (one GET per {@link
 * io.batchweave.format.Limits#SEGMENT_STEPS} steps). Above {@link
 * io.batchweave.format.Limits#INLINE_SLICES} slices the table is read from the footer and checked
 * by length and checksum. While the whole window is described, the head is not polled.
 *
 * <h2>Which steps a session reads (normative)</h2>
 *
 * <p>The session's version is its view: skips of that version and older are passed over, later ones
 * are not. {@link io.batchweave.read.StepOrder} is the one function that says so ({@link
 * io.batchweave.read.SessionView}: its answers for one session as a value). It needs a state at or
 * past the view, however that was reached, and gives the same answer from every such state for
 * every step that the session protects: whoever opens late, or from a snapshot, reads the same
 * steps as everybody else. A reader without a session (view 0) passes over nothing.
 *
 * <h2>Which bytes</h2>
 *
 * <p>Ranks of grid D' × cp read TGBs cut for D × cp when D is a multiple of D': each takes D/D'
 * consecutive slices of its cp index. Slices that lie next to each other in the object (only the
 * padding to 64 bytes between them) are one range, so that a node with adjacent ranks sends one
 * request; ranks of one place share their slices.
 *
 * <h2>Token</h2>
 *
 * <p>The layout is drawn at {@link io.batchweave.read.Token}; other languages mirror it. A token is
 * identical on all ranks of a session; a token of another stream is refused.
 */
package io.batchweave.read;
