/**
 * The object store as the protocols see it: the contract {@link io.batchweave.store.ObjectStore},
 * requests and answers as values ({@link io.batchweave.store.StoreRequest}, {@link
 * io.batchweave.store.StoreResponse}) for the machines that do no I/O, and the decorators.
 *
 * <p>The only primitive that coordinates anything is <em>create this key if it does not exist</em>.
 * No request relies on the order of a LIST, and a LIST need not be a snapshot.
 */
package io.batchweave.store;
