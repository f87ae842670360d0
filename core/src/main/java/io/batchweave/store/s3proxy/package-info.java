/**
 * An S3 endpoint inside this process, for tests and the demo: {@link
 * io.batchweave.store.s3proxy.LocalS3}. Needs {@code org.gaul:s3proxy} on the class path, which is
 * optional; no other package imports it.
 */
package io.batchweave.store.s3proxy;
