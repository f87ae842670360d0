/**
 * What every package shares: the exception with its kinds, and immutable bytes.
 *
 * <p>The packages in their order; one knows only what stands above it, and the build refuses
 * anything else:
 *
 * <ol>
 *   <li>{@link io.batchweave.store}: the object store, the only thing that is shared; files and S3;
 *   <li>{@link io.batchweave.format}: bytes and records: names, codecs, the TGB, safetensors;
 *   <li>{@link io.batchweave.log}: the state and its fold, invariants, following the log;
 *   <li>{@link io.batchweave.commit}: extending the log; {@link io.batchweave.produce}: producers;
 *       {@link io.batchweave.read}: readers. Machines without I/O, as in {@code log};
 *   <li>{@link io.batchweave.client}: the agent that drives the machines, and the blocking faces;
 *   <li>{@link io.batchweave.ingest}: files to samples to batches; {@link io.batchweave.simulate}:
 *       the machines of {@code log}, {@code commit}, {@code produce} and {@code read} on a virtual
 *       clock against a modelled store, and the checker of what they promise.
 * </ol>
 *
 * <p>Where to start: {@link io.batchweave.client} to use it, {@link io.batchweave.log} to
 * understand it.
 */
package io.batchweave;
