/** The node daemon. */
package io.batchweave.bridge.daemon;
