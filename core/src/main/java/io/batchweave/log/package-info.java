/**
 * The manifest log: what it means and how it is read. This is the protocol's own text; where code
 * and text disagree, one of them is a bug.
 *
 * <p>Start with {@link io.batchweave.log.Fold} (what a version does), then {@link
 * io.batchweave.log.State} (what is left of all versions), {@link io.batchweave.log.Invariants},
 * {@link io.batchweave.log.LogFollower} (how the log is read) and {@link
 * io.batchweave.log.SnapshotWriter}. Knows only {@code store} (requests as values) and {@code
 * format}. Everything here is a function or a {@link io.batchweave.log.Machine}: no thread, clock,
 * random source or I/O, driven by one thread at a time.
 *
 * <h2>Fold</h2>
 *
 * {@code state(v) = apply(state(v-1), version v)}, {@code state(0)} is empty. Safety rests on two
 * facts: the store lets one writer create a key, once; and everyone folds the same bytes with the
 * same function. What a committer knows is a hint: a wrong, slow or zombie one wastes a version and
 * cannot break more.
 *
 * <p>A version {@code v = 1, 2, …} is a header and blocks. Its header repeats what its committer
 * had folded:
 *
 * <pre>
 *   field            must be                                        v = 1
 *   streamId         of the object "stream"
 *   version          v
 *   commitId         random
 *   parentCommitId   commitId of v-1                                stream id
 *   nextStep         of state(v-1)                                  0
 *   horizon          of state(v-1)                                  0
 *   runningHash      of state(v-1)                                  stream id
 *   newestSnapshot   a hint: a snapshot known to exist, 0 if none
 *   paceMillis       a hint: its committer's interval
 *
 *   runningHash(v) = first 128 bits of SHA-256( runningHash(v-1) ‖ digest(v) )
 *   digest(v)      = first 128 bits of SHA-256( bytes of version v ), both big-endian
 * </pre>
 *
 * <p>If one of the fields above the hints is not as it must be, the version is <b>void</b>: it
 * counts ({@code version}), it chains ({@code commitId}, {@code runningHash}), and all its blocks
 * are ignored. Nobody stops for it, so that everybody goes on folding alike; but no sound writer on
 * a sound store makes one, and {@code verify} fails for it. Undecodable bytes, one block under a
 * good checksum included, are CORRUPT; an unknown block kind or a newer format is TOO_NEW: both
 * stop the reader, nothing is skipped.
 *
 * <h2>Blocks</h2>
 *
 * Applied in order; each is accepted, or ignored and counted under the name of its {@link
 * io.batchweave.log.Verdict}. {@code v} is the version that holds it.
 *
 * <table>
 * <caption>When a block is accepted and what it does</caption>
 * <tr><th>block</th><th>accepted iff</th><th>effect</th></tr>
 * <tr><td>fence(producer, epoch, incarnation)</td>
 *   <td>epoch = current + 1 (1 if new), incarnation is not the current one, not retired; a new
 *   producer within the limit</td>
 *   <td>the incarnation owns the epoch; nextSeq (1 if new) and source state stay</td></tr>
 * <tr><td>produce(producer, epoch, firstSeq, entries, sourceState)</td>
 *   <td>epoch is current, not retired, firstSeq = nextSeq, not sealed; at least one entry, entry i
 *   has seq firstSeq + i; each entry's object, and the source state's if it is one, is of this
 *   producer and epoch and its seqs cover the entry's (the block's last) seq</td>
 *   <td>each entry takes the next step; nextSeq and source state advance</td></tr>
 * <tr><td>retire(producer, base)</td>
 *   <td>base = version of the producer's last accepted block, not retired</td>
 *   <td>final: source state dropped, never fenced again, frees a place under the limit</td></tr>
 * <tr><td>session(group, sessionId, startStep, supersede, base)</td>
 *   <td>base = version of the group's last change, horizon &lt;= startStep &lt;= nextStep, no live
 *   session of the group unless supersede; a new group within the limit</td>
 *   <td>ends the live one; registers a launch, whose <em>view</em> is v</td></tr>
 * <tr><td>endSession(group, sessionId, base)</td>
 *   <td>base as above, that session is live</td>
 *   <td>stops protecting</td></tr>
 * <tr><td>pin(group, sessionId, view, id, step, keep)</td>
 *   <td>the live session has this id and this view, horizon &lt;= step &lt;= nextStep, step &gt;
 *   that session's last pin, keep &gt;= 1; within the limit of pins</td>
 *   <td>of the group's sessions' pins the newest {@code keep} stay, newest by (view, step); not a
 *   change of the group</td></tr>
 * <tr><td>operatorPin(group, id, step, base)</td>
 *   <td>base as above, horizon &lt;= step &lt;= nextStep; within the limits of groups and pins</td>
 *   <td>neither evicts nor is evicted, nor takes the place of another with the same id</td></tr>
 * <tr><td>unpin(group, id, base)</td>
 *   <td>base as above, such a pin exists</td><td>removes all pins of the group with that
 *   id</td></tr>
 * <tr><td>skip(from, to, base)</td>
 *   <td>base = version of the last skip, horizon &lt;= from &lt; to; within the limit</td>
 *   <td>sessions whose view is v or later pass over [from, to)</td></tr>
 * <tr><td>reclaim(step, base)</td>
 *   <td>base = horizon &lt; step &lt;= min(nextStep, every protected step); never when nothing is
 *   registered</td>
 *   <td>horizon = step; skips wholly below it are forgotten</td></tr>
 * <tr><td>seal</td><td>not sealed</td><td>the stream ends at nextStep</td></tr>
 * </table>
 *
 * <p>A live session protects from max(startStep, its last pin), a pin its step. A {@code base} that
 * is a version is also less than v: of two changes of one thing in one version the second is
 * ignored, else its late copy would still fit. So <b>a block takes effect at most once, ever</b>:
 * epoch, seq, base or the session's last pin have moved past it. {@link
 * io.batchweave.log.Fold#outlook} says when that is so; until then a block's outcome is unknown.
 *
 * <h2>Finding the head</h2>
 *
 * <pre>
 *   cold   1  LIST snapshot/            GET stream
 *          2  GET newest snapshot s     GET version s     LIST the group of s+1
 *          3  GET s+1 … newest listed, and one beyond     LIST the next group if that one is full
 *          4  GET the rest
 *   warm      GET v+1: 404 means that v is the head
 *   behind    after 8 hits in a row: LIST the group, GET in parallel
 * </pre>
 *
 * At most 8 requests are in flight, fewer after a 503; everything that fails is asked again after a
 * pause that doubles, until the same thing was refused 8 times in a row, whatever else was there
 * meanwhile. No order of a LIST counts, and a LIST may have holes: it says only that the log
 * reaches at least so far; every number below is read by GET.
 *
 * <ul>
 *   <li>A version that is not there although a later one was known to exist <em>before</em> it was
 *       asked for is a gap: CORRUPT.
 *   <li>A snapshot is used only if it is whole, its invariants hold, and version s carries its
 *       commit id and chains to its running hash. Otherwise the one before is tried, in the end the
 *       empty log. If it went away since it was listed, the list is read again first.
 *   <li>A tombstone (an empty object: {@link io.batchweave.format.ManifestCodec#isTombstone})
 *       means: open again. Met a second time after folding from the same snapshot: CORRUPT.
 *   <li>Whoever knew the head in time may go on from the version it created itself, with the very
 *       bytes it created.
 * </ul>
 *
 * <h2>Steps</h2>
 *
 * Steps [256 k, 256 (k+1)) are segment k, immutable, determined by the log. A step is found in the
 * state (unfinished segment), in what was folded since the last snapshot, or by one GET of its
 * segment. A segment that is missing or damaged although the horizon has not passed it is rebuilt
 * from the newest snapshot before it and the versions after that.
 *
 * <h2>Snapshots</h2>
 *
 * Due at the version at which the versions since the last one number 128 or outweigh four times its
 * size (at least 1 MiB), and at every 16th after that while there is none; the committer of that
 * very version writes it. Past 1,024 versions without one it is written before the next commit.
 * First the segments finished since the last one, then the snapshot, each by create-if-absent;
 * "exists" is success only if the bytes are equal. Then all but the 16 newest are deleted. A
 * failure is harmless: nothing refers to a snapshot but a hint.
 *
 * <p>{@code snapshot(v) = fold(all versions <= v)}, byte for byte.
 */
package io.batchweave.log;
