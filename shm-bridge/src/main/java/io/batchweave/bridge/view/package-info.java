/**
 * A node seen from outside: what {@code top} shows. Start at {@link
 * io.batchweave.bridge.view.NodeReader}, which reads {@code daemon.json}, the control and reader
 * files and the metrics endpoint into a {@link io.batchweave.bridge.view.NodeView}.
 *
 * <p>Read only: files are opened and mapped for reading, no lock is taken, nothing is written, and
 * neither daemon nor ranks notice. What is read is of no single moment. A file that is damaged, cut
 * short or gone is left out with a note: whoever looks must not fall over what is broken.
 *
 * <p>May depend on {@code bridge.memory} and {@code bridge.ring}. Not thread-safe.
 */
@NullMarked
package io.batchweave.bridge.view;

import org.jspecify.annotations.NullMarked;
