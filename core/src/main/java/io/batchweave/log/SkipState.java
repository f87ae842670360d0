package io.batchweave.log;

/**
 * Steps that sessions pass over.
 *
 * @param from first step
 * @param to exclusive
 * @param version the version that said so; it holds for sessions whose view is this or later
 */
public record SkipState(long from, long to, long version) {}
