package io.batchweave.client;

/**
 * What became of a change that an {@link Operator} was asked for.
 *
 * @param made false if the stream was like this already: asking twice is no error
 * @param version the version that says so; the head that was looked at if nothing was made
 */
public record Change(boolean made, long version) {}
