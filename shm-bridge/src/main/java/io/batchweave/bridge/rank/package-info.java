/**
 * The rank's side of shared memory, in Java: take the next step, use its bytes in place, release
 * it.
 *
 * <p>Start at {@link io.batchweave.bridge.rank.RankClient}, configured by {@link
 * io.batchweave.bridge.rank.RankContext}: it attaches, attaches again whenever a generation is
 * closed or the daemon is replaced, and hands out one {@link io.batchweave.bridge.rank.StepLease}
 * after another. {@link io.batchweave.bridge.rank.RankRing} is one attachment: one reader file and
 * one generation. How a rank says Hello is behind {@link io.batchweave.bridge.rank.Attacher}; the
 * one over Aeron is in {@code bridge.handshake}.
 *
 * <pre>
 *   RankClient ── Attacher (Hello, Welcome)
 *       │
 *       ├── RankRing   the newest attachment: takes steps
 *       └── RankRing…  older ones, until their last lease is released
 * </pre>
 *
 * <p><b>A step</b> is leased whole; the slices of the rank are {@link
 * io.batchweave.bridge.rank.StepLease#ownSlice}: one, or k neighbours of its cp in a stream cut for
 * k times the job's data-parallel size. Leases are released in any order and survive closed
 * generations, dead daemons and the client itself. The object of a lease is used again.
 *
 * <p><b>Position.</b> {@link io.batchweave.bridge.rank.RankClient#token} is behind the last step
 * taken: what a trainer stores, the same on all ranks. {@link
 * io.batchweave.bridge.rank.RankClient#checkpointed} registers a checkpoint that holds it.
 *
 * <table>
 * <caption>What asking for a step comes to</caption>
 * <tr><td>a lease</td><td>the step, its table checked</td></tr>
 * <tr><td>null</td><td>the stream is sealed and all of it was taken</td></tr>
 * <tr><td>{@link io.batchweave.bridge.rank.StepTimeoutException}</td><td>not there in time, with
 *     the daemon's last trouble: ask again</td></tr>
 * <tr><td>{@link io.batchweave.bridge.rank.DaemonLostException}</td><td>no daemon, none that runs,
 *     or none that took the rank: ask again</td></tr>
 * <tr><td>{@link io.batchweave.bridge.rank.RingHeldException}</td><td>leases of this client are in
 *     the way: release some</td></tr>
 * <tr><td>another BatchWeaveException</td><td>the step cannot be served, the daemon refused, or
 *     what it wrote cannot be; the kind tells</td></tr>
 * <tr><td>InternalError, from the bytes of a step</td><td>somebody cut the ring's file short</td></tr>
 * </table>
 *
 * <p><b>Threads.</b> A client and its leases belong to one platform thread; none is started. The
 * hand-off of a step allocates nothing; every wait is bounded by the caller's deadline and looks at
 * the state word and the daemon's lock.
 *
 * <p>Depends on {@code bridge.memory}, {@code bridge.ring} and the core's exceptions and grid; not
 * on Aeron and not on {@code bridge.daemon}. The protocol (taken, the fence, the state word; acks;
 * what a rank checks) is in {@code native-include/README.md}, sections <i>Rank</i>, <i>Changing the
 * generation</i> and <i>Liveness</i>.
 */
@NullMarked
package io.batchweave.bridge.rank;

import org.jspecify.annotations.NullMarked;
