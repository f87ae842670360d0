package io.batchweave.simulate;

import io.batchweave.Bytes;
import io.batchweave.format.ManifestVersion;
import io.batchweave.log.Folding;
import io.batchweave.log.State;
import org.jspecify.annotations.Nullable;

/**
 * Lets all processes of a {@link Fleet} hold one decoded form of each version and one state after
 * it: whoever is first decodes and folds, the others are given what came of it if they have the
 * same bytes and stand at the same state. Nothing that is shared is ever changed.
 *
 * <p>Only for figures: where promises are checked every process folds for itself.
 */
final class SharedFolding implements Folding {
  /** Versions at the head that are shared; whoever is further behind decodes for itself. */
  private static final int VERSIONS_KEPT = 64;

  /** A version, as the first one met it. */
  private static final class Shared {
    private final long number;
    private final Bytes body;
    private final ManifestVersion version;
    private @Nullable State before;
    private @Nullable Folded folded;

    private Shared(long number, Bytes body, ManifestVersion version) {
      this.number = number;
      this.body = body;
      this.version = version;
    }

    /** Whether a state is the one that was folded from; linear in it where another object is. */
    private boolean follows(State state) {
      State known = before;
      return state == known
          || (known != null
              && state.version() == known.version()
              && state.runningHash().equals(known.runningHash())
              && state.fingerprint() == known.fingerprint());
    }
  }

  private final @Nullable Shared[] newest = new Shared[VERSIONS_KEPT];

  private @Nullable Shared at(long version) {
    Shared shared = newest[(int) (version % VERSIONS_KEPT)];
    return shared != null && shared.number >= version ? shared : null;
  }

  @Override
  public ManifestVersion decode(long version, Bytes body) {
    Shared shared = at(version);
    if (shared == null) {
      shared = new Shared(version, body, Folding.super.decode(version, body));
      newest[(int) (version % VERSIONS_KEPT)] = shared;
    }
    return shared.number == version && shared.body.equals(body)
        ? shared.version
        : Folding.super.decode(version, body);
  }

  @Override
  public Folded fold(State state, ManifestVersion version) {
    Shared shared = at(state.version() + 1);
    if (shared == null || !shared.version.equals(version)) {
      return Folding.super.fold(state.copy(), version);
    }
    Folded folded = shared.folded;
    if (folded == null) {
      folded = Folding.super.fold(state.copy(), version);
      shared.before = state;
      shared.folded = folded;
      return folded;
    }
    return shared.follows(state) ? folded : Folding.super.fold(state.copy(), version);
  }
}
