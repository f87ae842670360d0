package io.batchweave.bridge.rank;

/**
 * How a stream stands at its head.
 *
 * @param nextStep steps committed
 * @param horizon first step not reclaimed
 * @param sealed whether the stream ends at {@code nextStep}; otherwise more may come
 * @param startStep the first step of the rank's session
 * @param sessionSteps steps from there to {@code nextStep} that the session reads: skipped and
 *     reclaimed ones do not count
 */
public record StreamStatus(
    long nextStep, long horizon, boolean sealed, long startStep, long sessionSteps) {}
