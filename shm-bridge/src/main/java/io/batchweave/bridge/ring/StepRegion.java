package io.batchweave.bridge.ring;

/**
 * Where one step lies in the ring.
 *
 * @param step the step
 * @param nextStep the step after it for this session; skips are passed over
 * @param offset first byte in the data file, a multiple of the page size
 * @param lengthBytes a multiple of the page size; 0 when the step has no region
 */
public record StepRegion(long step, long nextStep, long offset, long lengthBytes) {}
