/**
 * Producers: whole batches, their upload, and their place in the log, exactly once.
 *
 * <p>Start with {@link io.batchweave.produce.TgbBuilder}, which makes a {@link
 * io.batchweave.produce.Tgb}, and {@link io.batchweave.produce.ProducerMachine}, one incarnation of
 * a producer. May depend on {@code store}, {@code format}, {@code log} and {@code commit}. No
 * threads: one thread drives a machine; a {@code Tgb} is immutable.
 *
 * <h2>Life of an incarnation (normative)</h2>
 *
 * <pre>
 *   OPENING ---- own fence folded ----> RECOVERING ---- state read, crc checked ----> LIVE
 *      |                                    |                                          |
 *      +---- retired, too many -----+       +------- another incarnation's fence ------+
 *                                   v                  folded: FENCED, for ever
 *                                 FAILED
 * </pre>
 *
 * <ul>
 *   <li><b>Fence</b>: an incarnation proposes {@code fence(current epoch + 1, its own random id)}
 *       at every head it sees, until one of its own is folded, and never again after that. So a
 *       late fence of a dead incarnation costs one more round, and of two live duplicates one stays
 *       down. Where a snapshot passed over versions in which an own fence may have been folded and
 *       overtaken, it stays down too.
 *   <li><b>Source state</b> is read after the own fence is folded: nothing of an older epoch is
 *       accepted after it. Up to {@link io.batchweave.format.Limits#INLINE_SOURCE_STATE_BYTES} it
 *       is in the block; larger, it is an object of its own, uploaded before its block is offered.
 *       Only the state after the last batch of a block is kept: one block at a time prepares a
 *       state object, and batches gather behind it.
 *   <li><b>Objects</b>: consecutive batches share a data object, back to back, up to {@value
 *       io.batchweave.produce.PackPolicy#FULL_BYTES} bytes and as many entries as one block holds.
 *       No clock takes part: what is there goes as soon as an upload is free, unless {@value
 *       io.batchweave.produce.PackPolicy#MAX_UNRIPE} objects that were still small when they were
 *       sent are on their way; then it gathers until one of them is there, or it has {@value
 *       io.batchweave.produce.PackPolicy#RIPE_BYTES} bytes, or nothing can join any more. So a lone
 *       batch and a big one never wait, and the number of requests is bounded by the latency of the
 *       store, not by the number of batches.
 *   <li><b>Upload</b>: data objects go up in parallel under unique names, again and again until
 *       they are there; an upload is never conditional. A seq is bound to its object when that is
 *       first sent: whatever comes later never joins it.
 *   <li><b>Blocks</b> hold whole objects of contiguous seqs that are all there, in seq order, and
 *       of the source states only that after their last batch. A block that was written, or names a
 *       state object, is frozen: what is offered again is the same block, or one that begins later.
 *   <li><b>Acknowledged</b> is a batch that the fold accepted, and nothing else. An incarnation
 *       that was fenced, or sees the stream sealed, reports which seqs it did not see in the log;
 *       it deletes nothing.
 * </ul>
 *
 * <p>The seqs of a producer start at 1 and are contiguous across epochs: after a crash the next
 * incarnation goes on from the recovered state with the recovered seq.
 */
package io.batchweave.produce;
