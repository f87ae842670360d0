/**
 * The ring: shared memory of one training session on a node, written by its daemon and read by its
 * ranks without a copy. Every byte and the protocol around it are in {@code
 * native-include/README.md}; the descriptors here mirror {@code native-include/batchweave_abi.h}
 * and a test compares every offset.
 *
 * <table>
 * <caption>The package</caption>
 * <tr><td>{@link io.batchweave.bridge.ring.RingAbi}</td><td>constants, names of files</td></tr>
 * <tr><td>{@code …Descriptor}</td><td>one per shared structure: picture, offsets, checked
 *     decoding, accessors with the memory ordering in their names; nothing else does offset
 *     arithmetic</td></tr>
 * <tr><td>{@link io.batchweave.bridge.ring.RingMachine}</td><td>every decision about a ring, without
 *     I/O: events in, {@link io.batchweave.bridge.ring.RingCommand}s out. Start here</td></tr>
 * <tr><td>{@code RegionRing}, {@code RingGeneration}, {@code RingSteps}, {@code RingMembers}</td>
 *     <td>its parts: the space, the newest generation, its steps on their way in, who
 *     reads</td></tr>
 * <tr><td>{@link io.batchweave.bridge.ring.FoundRing}, {@code FoundClaim}, {@code RingTakeover}</td>
 *     <td>what a daemon left behind, what its ranks claim, the machine that goes on from
 *     there</td></tr>
 * <tr><td>{@link io.batchweave.bridge.ring.ControlFile}, {@link
 *     io.batchweave.bridge.ring.ReaderFile}</td><td>a generation in the hands of its daemon, an
 *     attachment in its eyes</td></tr>
 * <tr><td>{@link io.batchweave.bridge.ring.RingData}, {@link
 *     io.batchweave.bridge.ring.Doorbell}</td><td>files that daemon and ranks both open</td></tr>
 * </table>
 *
 * <pre>
 *            Hello                 all local readers there, or timeout,
 *   IDLE ------------&gt; FORMING --- no fetch unfinished ---------------&gt; OPEN
 *     ^                   ^                                             |
 *     |  last member gone |        onClosed(what everybody took)        | Close: coordinate, older
 *     +-------------------+-------------------- CLOSING &lt;---------------+ step, session, retry, end
 *                         |
 *      takeOver(files of the daemon before)
 * </pre>
 *
 * <p>Members are PENDING (said Hello), WELCOMED (take and ack) or EXPECTED (attached to a closed
 * generation, counted with the step they hold). Holders are reader files that take nothing more but
 * keep leases until released, backed out of, or unlocked.
 *
 * <p>A lease of a step that is still to come for the slowest rank lies outside of the ring's
 * window, after a restart of the daemon too: its holder lets go of it when it gets the step after
 * it, so a ring that waited for its place would wait for ever. A step is given any place that is
 * free, also while such leases leave less than (hold + 2) regions.
 *
 * <p>A rank is told RING_HELD by {@link io.batchweave.bridge.ring.RingStatus#isHeldBy}: it keeps
 * more than it may, and the daemon that says so has seen all that it released. The status may be as
 * old as the last time the daemon ran. Who keeps no more than {@code hold} is in nobody's way for
 * ever where a gap of (hold + 2) regions is left between what all ranks keep; in a ring smaller
 * than that a rank far behind may have to wait until one ahead releases, and its deadline says so.
 *
 * <p>Who writes what: the daemon a control file and the data file, a rank its reader file, all
 * ranks the word of the doorbell. The rank's side of the same bytes is {@code bridge.rank}, its
 * driver here {@code bridge.daemon}.
 *
 * <p>The machine is explored with its files, memory and ranks as a state machine (tests {@code
 * RingExplorationTest}, {@code RingWorld}): every interleaving of small rings, others at random.
 * {@link io.batchweave.bridge.ring.RingMachine#fingerprint} tells its states apart; what decides
 * nothing in a state goes through {@code StateHash.addWhere}, so that the exploration can leave it
 * out. That nothing else is left out is checked there: states with one fingerprint must have the
 * same followers.
 *
 * <p>Depends on {@code bridge.memory} and on the exception of the core. Descriptors have no state;
 * a machine and a file belong to one thread. Both ends of every edge between processes carry the
 * same label, {@code SYNC POINT: slot-ready} and so on, in Java and in C.
 */
@NullMarked
package io.batchweave.bridge.ring;

import org.jspecify.annotations.NullMarked;
