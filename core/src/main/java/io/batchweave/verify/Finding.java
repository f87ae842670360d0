package io.batchweave.verify;

/**
 * Something that cannot be in a sound stream.
 *
 * @param object the object that is wrong or missing
 * @param problem what is wrong with it
 */
public record Finding(String object, String problem) {}
