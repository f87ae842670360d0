package io.batchweave.log;

import io.batchweave.format.ManifestVersion;

/** What a {@link LogFollower} tells the machine that embeds it, in the order of versions. */
public sealed interface LogEvent {
  /**
   * A version was folded.
   *
   * @param version what it says
   * @param outcome what it did
   */
  record Folded(ManifestVersion version, FoldOutcome outcome) implements LogEvent {}

  /**
   * The state was replaced by that of a snapshot, because the versions between are trimmed. What
   * became of a block in between is known only as far as the state says it.
   *
   * @param fromVersion the state before; 0 at the first opening
   * @param toVersion the state now
   */
  record Jumped(long fromVersion, long toVersion) implements LogEvent {}
}
