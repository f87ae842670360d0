/**
 * The blocking faces of the protocols, and the agent that drives their machines.
 *
 * <p>Start with {@link io.batchweave.client.Streams} (make and describe a stream), {@link
 * io.batchweave.client.Producer}, {@link io.batchweave.client.StreamReader}, {@link
 * io.batchweave.client.Operator} and {@link io.batchweave.client.Collector}. Each takes a context:
 * the object store, which stays the caller's, a {@link org.agrona.concurrent.NanoClock}, a seed,
 * time limits. May depend on everything above it in the core; nothing above it may depend on this
 * package.
 *
 * <p><b>Retries</b>: machines read on after every failed request and judge by the fold; a store
 * wrapped in {@link io.batchweave.store.RetryingStore} spares them the small ones.
 *
 * <p><b>Threading</b>: this is the only package of the core, beside the stores, with threads and
 * futures. A {@link io.batchweave.client.MachineAgent} is one thread; it alone touches the machines
 * it drives. Each client starts one of its own, or shares one that is passed in and outlives it.
 * The store's callbacks only put answers into the agent's inbox. Callers wait on a lock that the
 * agent signals; listeners run on the agent's thread and must not block. Agents are daemon threads:
 * a JVM may end without closing them, as it may be killed.
 *
 * <p><b>Waiting ends</b>: every wait has a deadline and a typed error that names the store, what is
 * pending and the last trouble; a failure of the machine wakes everybody who waits.
 */
package io.batchweave.client;
