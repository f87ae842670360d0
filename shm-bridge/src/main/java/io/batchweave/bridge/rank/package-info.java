/**
 * The rank's side of shared memory, in Java: take the next step, use its bytes in place, release
 * it.
 *
 * <p>Start at {@link io.batchweave.bridge.rank.RankClient}: it attaches, attaches again whenever a
 * generation is closed or the daemon is replaced, and hands out one {@link
 * io.batchweave.bridge.rank.StepLease} after another. {@link io.batchweave.bridge.rank.RankRing} is
 * one attachment: one reader file and one generation. How a rank says Hello is behind {@link
 * io.batchweave.bridge.rank.Attacher}.
 *
 * <pre>
 *   RankClient ── Attacher (Hello, Welcome)
 *       │
 *       ├── RankRing   the newest attachment: takes steps
 *       └── RankRing…  older ones, until their last lease is released
 * </pre>
 *
 * <p>A client and its leases belong to one platform thread. The hand-off of a step allocates
 * nothing; every wait is bounded by the caller's deadline and looks at the state word and the
 * daemon's lock. The protocol is in {@code native-include/README.md}.
 */
@NullMarked
package io.batchweave.bridge.rank;

import org.jspecify.annotations.NullMarked;
