package io.batchweave.log;

import io.batchweave.format.SourceState;
import java.util.UUID;

/**
 * What the fold knows of one producer.
 *
 * @param epoch the current epoch, from 1
 * @param incarnation owner of that epoch
 * @param nextSeq seq of the next batch, from {@link #FIRST_SEQ}; contiguous across epochs
 * @param sourceState committed with the last batch; {@link SourceState#NONE} before the first one
 *     and after retirement
 * @param lastVersion version of the producer's last accepted block; the base of its retirement
 * @param retired final: never fenced again
 */
public record ProducerState(
    int epoch,
    UUID incarnation,
    long nextSeq,
    SourceState sourceState,
    long lastVersion,
    boolean retired) {
  /** The first seq of every producer. */
  public static final long FIRST_SEQ = 1;
}
