package io.batchweave.commit;

import io.batchweave.log.BlockOutcome;
import io.batchweave.log.Fingerprint;
import io.batchweave.log.FoldOutcome;
import io.batchweave.log.State;
import java.util.HashMap;
import java.util.Map;

/**
 * Who else has a block in the newest {@link CommitPolicy#ACTIVE_VERSIONS} versions. Their number is
 * kept, not counted: it is asked for at every decision, and there may be thousands.
 */
final class ActiveOwners {
  private static final int WINDOW = CommitPolicy.ACTIVE_VERSIONS;
  private static final int NEWCOMER_VERSIONS = 3;
  private static final int AUDIENCE_VERSIONS = 4;
  private static final long AUDIENCE_SCALE = 1_024;

  private final String self;
  private final Map<String, Long> lastVersions;

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
    this.lastVersions = new HashMap<>();
    this.lastHere = new int[WINDOW];
  }

  ActiveOwners(ActiveOwners other) {
    this.self = other.self;
    this.lastVersions = new HashMap<>(other.lastVersions);
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
    state.forEachProducer((id, producer) -> sees("p." + id, producer.lastVersion()));
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
        foreign |= sees(Owners.of(block.block()), outcome.version());
      }
    }
    audience += (AUDIENCE_SCALE * others - audience) / AUDIENCE_VERSIONS;
    if (lastVersions.size() > 4 * WINDOW + 2 * others) {
      lastVersions.values().removeIf(version -> !active(version));
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
  private boolean sees(String owner, long version) {
    if (owner.equals(self)) {
      return false;
    }
    if (active(version)) {
      Long before = lastVersions.get(owner);
      if (before == null || before < version) {
        lastVersions.put(owner, version);
        lastHere[(int) (version % WINDOW)]++;
        if (before != null && active(before)) {
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
        lastVersions, newestVersion, audience, Math.min(ownVersions, NEWCOMER_VERSIONS));
  }
}
