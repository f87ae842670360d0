/**
 * Retention: what may be deleted, and deleting it. This is the protocol's own text.
 *
 * <p>Start with {@link io.batchweave.retain.CollectorMachine}, one run of the collector. Knows
 * {@code store} (requests as values), {@code format}, {@code log} and {@code commit}. Everything
 * here is a function or a {@link io.batchweave.log.Machine}, driven by one thread at a time; the
 * blocking face is {@code io.batchweave.client.Collector}.
 *
 * <h2>What is kept (normative)</h2>
 *
 * Steps from the <em>horizon</em> on. A live session protects from max(its start, its last pin), a
 * pin its step; nothing else does, and no time passes here. The horizon moves by the block {@code
 * reclaim(step, base)}, which the fold accepts only up to the lowest protected step, and never when
 * nothing is registered. Whoever registers below the horizon is refused by the fold with the
 * horizon: so a step that somebody may ask for is there, or he was told that it is not.
 *
 * <h2>One run (normative)</h2>
 *
 * <pre>
 *   COMMIT         reclaim(min(nextStep, lowest protected step)), if that is above the horizon
 *                  S := the state that holds it, or that of the head; h := its horizon; once more
 *                  if S lets go of more than that, four times at most
 *   MARK           the objects that entries of S at or above h name: GET the segments from h on
 *   SWEEP          LIST data objects and source states, judge each by S, DELETE
 *   SEGMENTS       DELETE the segments wholly below h, if no key of the sweep was left over
 *   ANNOUNCEMENTS  DELETE groups three or more before that of S
 *   TRIM           if asked for: overwrite versions before the 16th newest snapshot by nothing
 * </pre>
 *
 * <p>An object is deleted if no version to come can name it, and S does not:
 *
 * <ul>
 *   <li>its last seq is below its producer's nextSeq, or its epoch is older than its producer's, or
 *       its producer is retired: {@code produce} is accepted only with firstSeq = nextSeq, in the
 *       current epoch, and only with objects of that epoch whose name covers the seq;
 *   <li><b>and</b> no entry of S at or above h names it; a source state: it is not its producer's
 *       current one in S.
 * </ul>
 *
 * Both hold for ever once they hold, so S may be old: a collector that was stopped for days and
 * goes on deletes nothing that is needed. No clock and no grace period: an upload whose commit
 * takes days is kept because its seqs are not below nextSeq. An object whose producer S does not
 * know, and a key that is no name of ours, are left alone.
 *
 * <p>A <b>pack</b> that reaches over h is named by its upper steps and stays as a whole.
 *
 * <p><b>Dying</b> at any point leaves objects that the next run lists and judges again. A key that
 * the store fails to delete is such an object. The lowest segment tells how far deletion has come.
 *
 * <p><b>Aborting</b>: what S needs and cannot be read (a version, the snapshots, a segment at or
 * above h) ends the run with CORRUPT and deletes nothing more. A segment that is missing is looked
 * for again under a new S first: another collector may be ahead.
 *
 * <p><b>Trimming</b>: before the first tombstone the 16 newest snapshots are read and compared: the
 * oldest belongs to the log (its version carries its commit id and chains to its running hash),
 * each newer one is the fold of it and the versions between, byte for byte; and the segments from h
 * on that they build on exist. Then the versions before the oldest are overwritten, upwards, by
 * empty objects: their numbers are never free again.
 *
 * <p><b>What a run leaves</b>, uploads under way apart, is at most 1.1 times the data of the steps
 * that the registrations <em>of S</em> need: packs that reach over h, and what producers that died
 * since had uploaded, are all that is more. That is why COMMIT is done once more where a checkpoint
 * came into the log beside its block: the block was made for the registrations before it. A session
 * or pin that moves on after S lets go of steps that the next run deletes: over what the
 * registrations of the moment after a run need, the mean of many runs is at most 1.1 too, the
 * single one may be more by what one checkpoint lets go. {@code simulate.Month} measures both after
 * every run, and its test asserts them.
 *
 * <p><b>Cost</b>: a LIST per 1,000 objects, a DELETE per 1,000 that go, a GET per 256 retained
 * steps; one LIST finds all data objects where they are few, else one per group. Memory: at most
 * {@link io.batchweave.retain.CollectPolicy#markedObjects} hashes of 8 bytes, in several passes if
 * more is retained, and one group of keys: nothing grows with history.
 */
package io.batchweave.retain;
