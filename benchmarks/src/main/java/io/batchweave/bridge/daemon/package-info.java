/** Benchmarks of the daemon that need its own classes: the fetcher as the daemon runs it. */
package io.batchweave.bridge.daemon;
