/**
 * The ring: shared memory of one training session on a node, written by its daemon and read by its
 * ranks without a copy. Every byte and the protocol around it are in {@code
 * native-include/README.md}; the descriptors here mirror {@code native-include/batchweave_abi.h}
 * and a test compares every offset.
 *
 * <table>
 * <caption>The package</caption>
 * <tr><td>{@link io.batchweave.bridge.ring.RingAbi}</td><td>constants, names of files</td></tr>
 * <tr><td>{@code …Descriptor}</td><td>one per shared structure: picture, offsets, checked
 *     decoding, accessors with the memory ordering in their names; nothing else does offset
 *     arithmetic</td></tr>
 * </table>
 *
 * <p>Depends on {@code bridge.memory} and on the exception of the core.
 */
@NullMarked
package io.batchweave.bridge.ring;

import org.jspecify.annotations.NullMarked;
