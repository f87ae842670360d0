/** Producers: whole batches, their upload, and their place in the log, exactly once. */
package io.batchweave.produce;
