/**
 * Does a store keep the contract of {@link io.batchweave.store.ObjectStore}? Start with {@link
 * io.batchweave.store.probe.Probe}.
 *
 * <table>
 * <caption>What is checked; FAIL where the protocol cannot live without it, WARN where it can</caption>
 * <tr><th>check</th><th>how</th><th>if not</th></tr>
 * <tr><td>create race</td><td>several connections create one key, all bytes sent but the last, then
 * released together; exactly one may win, and its bytes are there afterwards</td><td>FAIL</td></tr>
 * <tr><td>create on existing</td><td>refused, the object unchanged</td><td>FAIL</td></tr>
 * <tr><td>read after write</td><td>a key that was just asked for in vain, created, overwritten,
 * deleted: every get and head sees it at once</td><td>FAIL</td></tr>
 * <tr><td>list after put and delete</td><td>there, and gone</td><td>FAIL</td></tr>
 * <tr><td>pages of a list</td><td>1,001 objects: each once, also where 1,000 end</td><td>FAIL</td></tr>
 * <tr><td>order of a list</td><td>nothing relies on it</td><td>told</td></tr>
 * <tr><td>ranged reads</td><td>inside, across the end, past the end, into a file</td><td>FAIL</td>
 * </tr>
 * <tr><td>large upload</td><td>more than two parts, there and back</td><td>FAIL</td></tr>
 * <tr><td>checksum headers, versioning, lifecycle</td><td>{@link
 * io.batchweave.store.ObjectStore#traits}</td><td>WARN</td></tr>
 * </table>
 *
 * <p>A race that a store loses with probability p per round is seen in n rounds with probability 1
 * - (1-p)^n: 920 rounds show one in 200 with 99 %.
 *
 * <p>Knows only the interface of stores. Blocks the calling thread, every wait is bounded. What it
 * wrote is removed at the end, whatever happened; its keys begin with {@code probe} and 128 random
 * bits. (Of a directory the empty folders stay, unless {@link io.batchweave.store.file.NewFolders}
 * takes them away, as the command does.)
 */
package io.batchweave.store.probe;
