/**
 * The object store as the protocols see it.
 *
 * <p>Start with {@link io.batchweave.store.ObjectStore}, the contract; {@link
 * io.batchweave.store.Stores#open} makes one from a URL whose settings are {@link
 * io.batchweave.store.StoreSetting}s. {@link io.batchweave.store.StoreRequest} and {@link
 * io.batchweave.store.StoreResponse} are requests and answers as values for the machines that do no
 * I/O, carried out by {@link io.batchweave.store.StoreRequests}.
 *
 * <table>
 * <caption>Implementations and decorators</caption>
 * <tr><th>class</th><th>what it is</th></tr>
 * <tr><td>{@link io.batchweave.store.file.FileObjectStore}</td><td>a directory</td></tr>
 * <tr><td>{@link io.batchweave.store.s3.S3ObjectStore}</td><td>a bucket of any S3-compatible
 * service</td></tr>
 * <tr><td>{@link io.batchweave.store.RetryingStore}</td><td>sends again what may be
 * repeated</td></tr>
 * <tr><td>{@link io.batchweave.store.MeteredStore}</td><td>counts what goes through</td></tr>
 * <tr><td>{@link io.batchweave.store.FaultStore}</td><td>lies, for tests</td></tr>
 * </table>
 *
 * <p>{@link io.batchweave.store.probe} finds out whether a store keeps the contract.
 *
 * <p>In production: {@code new RetryingStore(new MeteredStore(Stores.open(url, environment),
 * clock), seed)}, so that the meter sees every attempt.
 *
 * <p>The only primitive that coordinates anything is <em>create this key if it does not exist</em>.
 * It is sent once by every layer; what its answers mean is said by {@link
 * io.batchweave.store.ObjectStore#putIfAbsent}. No request relies on the order of a LIST, and a
 * LIST need not be a snapshot. Failures are few ({@link io.batchweave.store.StoreFailure}) and say
 * what is known about the effect of the request.
 *
 * <p>Threading: no method blocks on the store; futures complete on the store's own threads, and
 * their callbacks must not block. Every implementation passes one contract suite.
 */
package io.batchweave.store;
