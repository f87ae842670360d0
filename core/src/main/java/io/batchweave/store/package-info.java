/**
 * The object store as the protocols see it.
 *
 * <p>Start with {@link io.batchweave.store.ObjectStore}, the contract; {@link
 * io.batchweave.store.Stores#open} makes one from a URL. {@link io.batchweave.store.StoreRequest}
 * and {@link io.batchweave.store.StoreResponse} are requests and answers as values for the machines
 * that do no I/O, carried out by {@link io.batchweave.store.StoreRequests}.
 *
 * <p>The only primitive that coordinates anything is <em>create this key if it does not exist</em>.
 * No request relies on the order of a LIST, and a LIST need not be a snapshot.
 */
package io.batchweave.store;
