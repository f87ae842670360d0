/**
 * The operating system as this project needs it: shared files that are really allocated, mappings,
 * locks that live exactly as long as a mapping, and futexes between processes.
 *
 * <p>Start at {@link io.batchweave.bridge.memory.NativeMemory}: the policy, in our words. {@code
 * Posix} is the only class with downcalls: static final handles, captured errno, one translation of
 * errors into {@link io.batchweave.bridge.memory.NativeMemoryException}. {@link
 * io.batchweave.bridge.memory.LockedMapping} is the liveness lock, {@link
 * io.batchweave.bridge.memory.RingAllocation} gets the ring's memory and {@link
 * io.batchweave.bridge.memory.Headroom} says how much there is.
 *
 * <p>Depends on the exception of the core and on nothing else of the project. Files, mappings and
 * waiters have one owner, which closes them; {@link
 * io.batchweave.bridge.memory.NativeMemoryAccount} counts what is open and tests assert that the
 * counts return to where they were. A mapping must not be closed while another thread waits on it.
 * Waiting blocks the carrier thread, so it is refused on virtual threads. Linux on x86-64 and
 * AArch64; what an older kernel lacks is left out with one line in {@link
 * io.batchweave.bridge.memory.NativeMemory#notices}.
 */
@NullMarked
package io.batchweave.bridge.memory;

import org.jspecify.annotations.NullMarked;
