package io.batchweave.log;

import io.batchweave.format.Block;
import io.batchweave.format.Block.Takeover;
import io.batchweave.format.DataObject;
import io.batchweave.format.ManifestVersion;
import io.batchweave.format.VersionHeader;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * Versions as no honest network would make them: blocks that nearly fit, late copies of any age,
 * doubles within a version, bases of the very version they stand in, lying headers.
 */
final class BlockGenerator {
  private static final int POOL = 200;

  private final Bits bits;
  private final List<Block> pool = new ArrayList<>();

  BlockGenerator(long seed) {
    this.bits = new Bits(seed);
  }

  long below(long bound) {
    return bits.nextBelow(bound);
  }

  List<Block> pool() {
    return pool;
  }

  ManifestVersion version(State state) {
    List<Block> blocks = new ArrayList<>();
    for (long i = below(6); i >= 0; i--) {
      Block block = pool.isEmpty() || below(3) > 0 ? fresh(state) : oldOne();
      blocks.add(block);
      if (below(8) == 0) {
        blocks.add(block);
      }
    }
    return version(state, blocks);
  }

  ManifestVersion version(State state, List<Block> blocks) {
    boolean lie = below(20) == 0;
    VersionHeader header =
        new VersionHeader(
            state.streamId(),
            state.version() + 1,
            bits.nextId(),
            lie && below(2) == 0 ? bits.nextId() : state.commitId(),
            state.nextStep() + (lie ? 1 : 0),
            state.horizon(),
            state.runningHash(),
            0,
            100);
    return new ManifestVersion(header, blocks, bits.nextId(), 1_000);
  }

  private Block oldOne() {
    return pool.get((int) below(pool.size()));
  }

  private Block fresh(State state) {
    Block block = make(state);
    if (pool.size() < POOL) {
      pool.add(block);
    } else {
      pool.set((int) below(POOL), block);
    }
    return block;
  }

  private Block make(State state) {
    String group = "g" + below(3);
    GroupState known = state.group(group);
    String session = "s" + below(3);
    long base = near(state, known.changed());
    return switch ((int) below(24)) {
      case 0, 1, 2 -> fence(state);
      case 3, 4, 5, 6, 7, 8, 9 -> produce(state);
      case 10 ->
          below(4) == 0
              ? new Block.Retire("p" + below(4), near(state, lastVersion(state, "p" + below(4))))
              : produce(state);
      case 11, 12, 13 ->
          new Block.OpenSession(
              group,
              session,
              step(state),
              below(2) == 0 ? Takeover.REFUSE : Takeover.SUPERSEDE,
              base);
      case 14 -> new Block.EndSession(group, session, base);
      case 15, 16, 17 -> pin(state, group);
      case 18 -> new Block.OperatorPin(group, "id" + below(3), step(state), base);
      case 19 -> new Block.Unpin(group, "id" + below(3), base);
      case 20 -> {
        long from = step(state);
        yield new Block.Skip(from, from + below(4), near(state, state.lastSkipVersion()));
      }
      case 21, 22 -> new Block.Reclaim(step(state), Math.max(0, state.horizon() - below(2)));
      default -> below(40) == 0 ? new Block.Seal() : fence(state);
    };
  }

  private Block fence(State state) {
    String id = "p" + below(4);
    ProducerState producer = state.producer(id);
    int epoch = producer == null ? 0 : producer.epoch();
    return new Block.Fence(
        id, (int) Math.max(1, epoch + 1 - below(2) + below(2)), new UUID(0, below(3)));
  }

  private Block produce(State state) {
    String id = "p" + below(4);
    ProducerState producer = state.producer(id);
    int epoch = producer == null ? 1 : producer.epoch();
    long seq = producer == null ? 1 : producer.nextSeq();
    if (below(3) == 0) {
      epoch = (int) Math.max(1, epoch - below(2) + below(2));
      seq = Math.max(1, seq - below(4) + below(2));
    }
    long count = below(50) == 0 ? 300 : 1 + below(4);
    return LogWriter.produce(new DataObject(id, epoch, seq, seq + count - 1, bits.nextLong()), seq);
  }

  private Block pin(State state, String group) {
    SessionState session = state.group(group).session();
    return new Block.Pin(
        group,
        session == null ? "s0" : session.sessionId(),
        session == null ? state.version() : session.view(),
        "id" + below(3),
        step(state),
        (int) (1 + below(3)));
  }

  private static long lastVersion(State state, String id) {
    ProducerState producer = state.producer(id);
    return producer == null ? 0 : producer.lastVersion();
  }

  private long step(State state) {
    long span = state.nextStep() - state.horizon();
    return Math.max(0, state.horizon() - 1 + below(span + 3));
  }

  /** The right base, mostly; else one before it, the newest version, or the one being made. */
  private long near(State state, long base) {
    return switch ((int) below(6)) {
      case 0 -> Math.max(0, base - 1);
      case 1 -> state.version() + below(2);
      default -> base;
    };
  }
}
