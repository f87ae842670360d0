/**
 * Everything that reads the log: the state and its fold, the invariants, finding the head,
 * snapshots and segments.
 */
package io.batchweave.log;
