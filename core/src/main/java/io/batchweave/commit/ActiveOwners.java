package io.batchweave.commit;

import io.batchweave.format.Block;
import io.batchweave.log.BlockOutcome;
import io.batchweave.log.Fingerprint;
import io.batchweave.log.FoldOutcome;
import io.batchweave.log.State;
import org.agrona.collections.Object2LongHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Who else has a block in the newest {@link CommitPolicy#ACTIVE_VERSIONS} versions. Their number is
 * kept, not counted: it is asked for at every decision, and there may be thousands.
 */
final class ActiveOwners {
  private static final int WINDOW = CommitPolicy.ACTIVE_VERSIONS;
  private static final int NEWCOMER_VERSIONS = 3;
  private static final int AUDIENCE_VERSIONS = 4;
  private static final long AUDIENCE_SCALE = 1_024;

  private static final long NEVER = -1;

  private final String self;

  /** The producer who asks; null if it is none. */
  private final @Nullable String selfProducer;

  /** The last version of each producer, by its id. */
  private final Object2LongHashMap<String> producers;

  /** The last version of each other owner, by its name. */
  private final Object2LongHashMap<String> groups;

  /** At version mod WINDOW: how many others have their last block in that version. */
  private final int[] lastHere;

  private long newestVersion;
  private int others;
  private long audience;
  private long ownVersions;

  /**
   * Nobody yet.
   *
   * @param self the owner who asks
   */
  ActiveOwners(String self) {
    this.self = self;
    this.selfProducer = Owners.producer(self);
    this.producers = new Object2LongHashMap<>(NEVER);
    this.groups = new Object2LongHashMap<>(NEVER);
    this.lastHere = new int[WINDOW];
  }

  ActiveOwners(ActiveOwners other) {
    this.self = other.self;
    this.selfProducer = other.selfProducer;
    this.producers = new Object2LongHashMap<>(other.producers);
    this.groups = new Object2LongHashMap<>(other.groups);
    this.lastHere = other.lastHere.clone();
    this.newestVersion = other.newestVersion;
    this.others = other.others;
    this.audience = other.audience;
    this.ownVersions = other.ownVersions;
  }

  /** Whether the log was empty when it was last read. */
  boolean logIsEmpty() {
    return newestVersion == 0;
  }

  /** Other owners that are active. */
  int others() {
    return others;
  }

  /**
   * Other owners as of the last few versions, for whom the log must not be too fast: a crowd that
   * has just come counts little by little, so that it is not slowed down before it has started.
   */
  int settledOthers() {
    return (int) Math.min(others, audience / AUDIENCE_SCALE);
  }

  /** Whether nobody else writes; whoever has just come waits a few versions before he says so. */
  boolean lone() {
    return others == 0 && ownVersions >= NEWCOMER_VERSIONS;
  }

  /** The state was read from a snapshot. */
  void onJumped(State state) {
    moveTo(state.version());
    state.forEachProducer((id, producer) -> seesProducer(id, producer.lastVersion()));
    audience = AUDIENCE_SCALE * others;
  }

  /**
   * A version was folded.
   *
   * @return whether it has an accepted block of another owner
   */
  boolean onFolded(FoldOutcome outcome) {
    moveTo(outcome.version());
    boolean foreign = false;
    for (BlockOutcome block : outcome.blocks()) {
      if (block.accepted()) {
        foreign |= sees(block.block(), outcome.version());
      }
    }
    audience += (AUDIENCE_SCALE * others - audience) / AUDIENCE_VERSIONS;
    if (producers.size() + groups.size() > 4 * WINDOW + 2 * others) {
      producers.values().removeIf(version -> !active(version));
      groups.values().removeIf(version -> !active(version));
    }
    return foreign;
  }

  /** A version of one's own was created. */
  void onCommitted() {
    ownVersions++;
  }

  private boolean active(long version) {
    return version > newestVersion - WINDOW;
  }

  private void moveTo(long version) {
    long first = Math.max(newestVersion + 1, version - WINDOW + 1);
    for (long passed = first; passed <= version; passed++) {
      int slot = (int) (passed % WINDOW);
      others -= lastHere[slot];
      lastHere[slot] = 0;
    }
    newestVersion = Math.max(newestVersion, version);
  }

  /** Notes a block; true if it is another's. */
  private boolean sees(Block block, long version) {
    String producer = Owners.producer(block);
    return producer != null
        ? seesProducer(producer, version)
        : seesGroup(Owners.of(block), version);
  }

  private boolean seesProducer(String producer, long version) {
    return !producer.equals(selfProducer) && sees(producers, producer, version);
  }

  private boolean seesGroup(String owner, long version) {
    return !owner.equals(self) && sees(groups, owner, version);
  }

  private boolean sees(Object2LongHashMap<String> owners, String name, long version) {
    if (active(version)) {
      long before = owners.getValue(name);
      if (before < version) {
        owners.put(name, version);
        lastHere[(int) (version % WINDOW)]++;
        if (before != NEVER && active(before)) {
          lastHere[(int) (before % WINDOW)]--;
        } else {
          others++;
        }
      }
    }
    return true;
  }

  long fingerprint() {
    return Fingerprint.of(
        producers, groups, newestVersion, audience, Math.min(ownVersions, NEWCOMER_VERSIONS));
  }
}
