/**
 * What every package shares: the exception and its kinds.
 *
 * <p>Where to start: {@link io.batchweave.store} (the only shared thing), {@link
 * io.batchweave.format} (bytes and records), {@link io.batchweave.log} (the fold), then {@link
 * io.batchweave.produce} and {@link io.batchweave.read}. A package knows only what stands above it
 * in that list.
 */
package io.batchweave;
