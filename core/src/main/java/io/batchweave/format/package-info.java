/**
 * Bytes and records, nothing else: envelope, codecs, the TGB layout, safetensors, names, limits.
 */
package io.batchweave.format;
