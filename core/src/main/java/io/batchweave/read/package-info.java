/** Readers: what a step is, which bytes a rank needs of it, and where to resume. */
package io.batchweave.read;
