/**
 * Stress tests of every edge between processes that the shared memory of a ring has, on the
 * production accessors: one class per {@code SYNC POINT}. Run by {@code ./batchweave bench --only
 * jcstress}.
 */
@NullMarked
package io.batchweave.bridge.ring;

import org.jspecify.annotations.NullMarked;
