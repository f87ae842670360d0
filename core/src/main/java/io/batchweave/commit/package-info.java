/**
 * Everything that extends the log: one version at a time, by whoever creates the next number first,
 * for everybody.
 *
 * <p>Start with {@link io.batchweave.commit.CommitMachine}. It knows the log through {@link
 * io.batchweave.log.LogFollower}, decides when to act through {@link
 * io.batchweave.commit.CommitPolicy} (pure: observations in, decision and time out; {@code
 * LeaderPolicy} is the part of whoever wrote last, {@code FollowerPolicy} and {@code StepInTimer}
 * that of the others, {@code Tempo} knows all durations), reads the announcements of others with
 * {@code NoticeBoard}, keeps its own with {@code Announcer}, puts a version together with {@code
 * VersionDraft}, and is embedded by producers and by {@link io.batchweave.commit.ProposalMachine},
 * which gets a single block decided. May depend on {@code store}, {@code format} and {@code log}.
 * No threads: one thread drives a machine.
 *
 * <h2>The commit loop (normative)</h2>
 *
 * <pre>
 *   work --&gt; LOOK --+-- somebody leads ------&gt; ANNOUNCE -- step-in time over --&gt; LOOK, GATHER --+
 *                   |                              |                                          |
 *                   |                     block seen in the fold: done                        |
 *                   +-- nobody leads --------&gt; GATHER, LOOK ----------------------------------+
 *                                                                                             v
 *   LEAD: GATHER, wait for the pace &lt;--- CREATED: fold the own bytes &lt;--- PUT manifest/&lt;v+1&gt;
 *                   |                                                      create-if-absent
 *                   +-- blocks at hand --&gt; PUT           anything else says nothing: LOOK
 * </pre>
 *
 * <ol>
 *   <li><b>Look</b>: read on until GET of the next version finds nothing.
 *   <li><b>Gather</b>: LIST the group of {@code announce/} of the head (and the one before while
 *       the head is among the first 32 versions of its group, the first 8 where fewer than 8 others
 *       are active), GET what is new in parallel.
 *   <li><b>Build</b>: header of the state at the head, with a random commit id for this attempt;
 *       then blocks of all owners that the fold would accept in this order, none split, to {@link
 *       io.batchweave.format.Limits#VERSION_BYTES}. Owners by least recent last version (ties by a
 *       hash of owner and version), one block of each before the second of any.
 *   <li><b>Create</b> version v+1 if it does not exist. Sent once: nothing below repeats it.
 *   <li><b>Judge</b>: success of a block is judged in the fold, never by an answer.
 * </ol>
 *
 * <table>
 *   <caption>What an answer to the create means</caption>
 *   <tr><th>answer</th><th>then</th></tr>
 *   <tr><td>CREATED</td><td>these very bytes are version v+1: fold them without reading</td></tr>
 *   <tr><td>EXISTS</td><td>read on; the version there may still be one's own</td></tr>
 *   <tr><td>UNCLEAR, THROTTLED, no answer</td><td>back off, from 50 ms doubling to 5 s until some
 *       version is folded or stands in its place; read on; it may land later</td></tr>
 *   <tr><td>CONFLICT (409)</td><td>read on; the key may be empty: the same version again</td></tr>
 *   <tr><td>refused (credentials, settings, space)</td><td>as UNCLEAR; after {@value
 *       io.batchweave.commit.CommitMachine#MAX_REFUSALS} in a row the machine stops</td></tr>
 * </table>
 *
 * <p>Nothing is cleaned up after an unclear outcome, by anybody, ever. Offering a block again is
 * harmless: base, epoch or seq let every block take effect at most once. A block that <em>went
 * out</em>, in a version or in an announcement, may be committed by anybody at any later time: it
 * is offered like this or not at all, and it is reported as refused only when {@link
 * io.batchweave.log.Fold#outlook} says NEVER; until then its outcome is unknown. A version of one's
 * own that the fold finds void means that this process has folded other bytes than the store holds:
 * it stops with CORRUPT.
 *
 * <h2>Helping (normative)</h2>
 *
 * <ul>
 *   <li><b>Leader</b> is whoever wrote the last version. It needs no look, keeps the pace, and goes
 *       on while it has or sees work: after a version that served others the next round comes in
 *       time for the next interval (where five or more others are active); else there is one last
 *       round, when nobody announces to it any more. A leader without work stops.
 *   <li><b>Announce</b> (create-if-absent, one object per block, at most four undecided ones of an
 *       owner; what comes later gathers into one block) while somebody leads: the last version is
 *       not older than its committer's pace and a GET, or, with eight or more active others, than a
 *       step-in interval; what is unknown of its age is estimated from how many came since one last
 *       knew. With as many others somebody leads for ten seconds more without a look. An owner that
 *       lost a version to another announces rather than writes, for its next two.
 *   <li><b>Alone</b> (no other owner in the last {@value
 *       io.batchweave.commit.CommitPolicy#ACTIVE_VERSIONS} versions, and three own versions since
 *       the start) nobody announces nor looks: LIST and PUT.
 *   <li><b>Fair</b>: no version without a round of LIST begun after one's previous version was
 *       sent. A leader that cannot list, however long that takes to fail, announces, yields one
 *       step-in interval, then commits once without. A version that did not hold all acceptable
 *       blocks is followed at once, by a round that runs beside it; its header says so: its pace is
 *       LIST + GET + PUT.
 *   <li><b>Step in</b>: the interval is pace + 2 × (LIST + GET + PUT) as one's own requests take,
 *       at least 50 ms, from the first announcement of one's block, plus a delay drawn so that of a
 *       crowd few come first. If the log moved meanwhile, its committer gets a second interval from
 *       that version on, but not beyond two in all. An announcement that nobody can decode, or that
 *       is not what its name says, so costs its owner that long.
 *   <li><b>Shared intents</b> (blocks of sessions, pins, operators) are announced first, so that
 *       many nodes write one object; whose PUT created it commits at once if nobody leads, who
 *       found it waits two intervals.
 *   <li><b>Fences</b> with nobody leading wait for a drawn delay first, and ask for the next
 *       version whenever a third of what is left of it is over: whoever finds one announces. So a
 *       thousand producers that start in one instant write a few versions, and nearly all their
 *       fences are in the third.
 *   <li><b>Again</b>: an announcement older than the two newest groups, or failed, is repeated.
 *   <li><b>Clean</b>: after a version of one's own is folded, announcements that the fold has
 *       decided are deleted, when they are {@value
 *       io.batchweave.commit.CommitPolicy#WORTH_A_DELETE} or more, 1,000 to a request; {@code p.}
 *       and {@code f.} are judged by the numbers in their names. Whoever creates the first version
 *       of group g deletes groups g-3 and g-4.
 * </ul>
 *
 * <p><b>Pace</b>: at most {@value io.batchweave.commit.CommitPolicy#MAX_VERSIONS_PER_SECOND}
 * versions per second; not alone, 2 × (LIST + GET + PUT) from one to the next, and active owners ×
 * versions/s at most {@value io.batchweave.commit.CommitPolicy#MAX_READS_PER_SECOND}, where a crowd
 * that has just come counts over a few versions little by little; where the store is so fast that a
 * version would hold fewer than two blocks, up to 200 ms; never slower than one per second, unless
 * the store throttles: then up to ten seconds more, an eighth of it after each success.
 *
 * <p><b>Snapshots</b>: whoever created a version at which one is due writes it beside the loop;
 * past {@link io.batchweave.log.SnapshotPolicy#BLOCKING_VERSIONS} versions without one it comes
 * before the next commit.
 *
 * <h2>Why so</h2>
 *
 * Simulated on the latencies of S3. A window between look and create of 100 ms costs a third more
 * versions among four producers whose batches come at fixed times: so whoever writes alone gathers
 * first and looks last, and who lost once announces. Random delays there made it worse. A leader
 * that thinks itself alone in its first versions leaves a crowd that starts with it to its step-in
 * timers. Of 1,024 that start at once, whoever guessed the time of its requests from one quick GET
 * came first: so the reads that open the log are averaged. With 8 or more others the last version
 * counts as somebody's for a step-in interval: its age is an estimate, a round of many reads makes
 * the next one late, and one who takes it for too old reads a thousand announcements for nothing.
 * Were it from 64 on only, an owner that knows just the second version of a crowd, with some 50
 * fences in it, would do so: on 4 seeds of 40, up to 15 owners, up to 17 requests per batch.
 */
package io.batchweave.commit;
