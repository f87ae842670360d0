/**
 * Files to samples to TGBs, and back again for checking. Where to start: {@link
 * io.batchweave.ingest.Ingest} and {@link io.batchweave.ingest.IngestContext}; the exact position
 * is {@link io.batchweave.ingest.IngestCursor}, the state machine behind it is package-private and
 * pure over a {@link io.batchweave.ingest.ByteSource}. May depend on {@code client}, {@code
 * produce} and {@code format}. Nothing here is thread-safe; an ingest runs on its caller's thread.
 *
 * <h2>From bytes to tokens</h2>
 *
 * <table>
 *   <caption>Tokens</caption>
 *   <tr><th>token</th><th>meaning</th></tr>
 *   <tr><td>0 to 255</td><td>one input byte</td></tr>
 *   <tr><td>256</td><td>end of a document</td></tr>
 *   <tr><td>257</td><td>padding, only at the end of the last batch of a run</td></tr>
 * </table>
 *
 * A <b>document</b> of plain text is a file: all its bytes as they are, nothing is decoded or
 * normalised. What is appended to a file after its end was committed is a document of its own. A
 * document of JSONL is the UTF-8 text of the chosen field of one line; blank lines are none, an
 * empty text is an empty document, a last line without a line end counts. Empty files are no
 * documents. So the stream without tokens 256 and 257 is, per producer, exactly the input bytes, in
 * order; {@link io.batchweave.ingest.IngestVerifier} checks that.
 *
 * <p>A bad line (not UTF-8, not one JSON object, without the field as text, the field given twice,
 * half a surrogate pair, longer than 64 MiB) is an error with file and line, or left out and
 * counted.
 *
 * <p><b>Files</b> are taken by absolute path, sorted as text, each once. Below directories and
 * patterns, names that begin with a dot are left out. Order: the file that was being read, then
 * files that grew, in the order in which they were begun, then new ones. A shard i/n has the files
 * whose name below its argument hashes (CRC-32C, mixed) to i modulo n.
 *
 * <h2>From tokens to batches</h2>
 *
 * A batch is {@code globalBatch × seqLen} consecutive tokens; sequence s has the tokens from {@code
 * s × seqLen} on. Slice (d, c) holds the sequences {@code [d × rows, (d+1) × rows)}, rows =
 * globalBatch / dp, and of each the columns {@code [c × columns, (c+1) × columns)}, columns =
 * seqLen / cp, as one safetensors tensor {@code tokens} of int32, shape [rows, columns]. Labels are
 * the trainer's matter: the same tokens, one further.
 *
 * <p>{@code samples} of a slice are its sequences with at least one token that is no padding, equal
 * for all c; {@code tokens} are those in the slice that are no padding. The origin names the first
 * and the last file with byte ranges; of JSONL the ranges are those of the lines.
 *
 * <h2>Going on</h2>
 *
 * The cursor after a batch is committed with it as the producer's source state: every consumed file
 * with the length and a fingerprint of its consumed part, and the position in the file being read.
 * A run first reads all consumed parts again: one that changed, shrank or vanished is an error that
 * names it. Batch sizes may change between runs; text field and shard may not. A run killed
 * anywhere and started again gives the same bytes as one that was not.
 */
package io.batchweave.ingest;
