package io.batchweave.commit;

import io.batchweave.format.Block;
import io.batchweave.format.Limits;
import io.batchweave.format.ManifestCodec;
import io.batchweave.log.Fingerprint;
import io.batchweave.log.Fold;
import io.batchweave.log.State;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What goes together into the next version: acceptable blocks of every owner, the owners by least
 * recent last version, one block of each before the second of any. So whatever does not fit comes
 * first next time, whatever it is called.
 *
 * @param blocks in the order in which they apply, none split, within the limits of a version
 * @param overflowed whether an acceptable block had to stay behind
 */
record VersionDraft(List<Block> blocks, boolean overflowed) {
  private record Owned(String owner, long lastVersion, long tie, List<Block> blocks) {}

  VersionDraft {
    blocks = List.copyOf(blocks);
  }

  /**
   * Puts a version together.
   *
   * @param state at the head
   * @param own the committer's own blocks, in the order in which they apply
   * @param others blocks of others, each owner's in the order in which they apply
   */
  static VersionDraft assemble(State state, List<Block> own, List<Block> others) {
    if (own.size() + others.size() == 1) {
      List<Block> single = own.isEmpty() ? others : own;
      boolean accepted = Fold.accepts(state, single.getFirst()).accepted();
      return new VersionDraft(accepted ? single : List.of(), false);
    }
    List<Owned> owners = byLeastRecent(state, own, others);
    State draft = state.copy();
    List<Block> blocks = new ArrayList<>();
    int lengthBytes = ManifestCodec.EMPTY_VERSION_BYTES;
    boolean more = true;
    for (int round = 0; more; round++) {
      more = false;
      for (Owned owned : owners) {
        if (round >= owned.blocks().size()) {
          continue;
        }
        more = true;
        Block block = owned.blocks().get(round);
        if (!Fold.accepts(draft, block).accepted()) {
          continue;
        }
        lengthBytes += ManifestCodec.encodedLength(block);
        if (lengthBytes > Limits.VERSION_BYTES || blocks.size() == Limits.VERSION_BLOCKS) {
          return new VersionDraft(blocks, true);
        }
        if (Fold.offer(draft, block).accepted()) {
          blocks.add(block);
        }
      }
    }
    return new VersionDraft(blocks, false);
  }

  private static List<Owned> byLeastRecent(State state, List<Block> own, List<Block> others) {
    Map<String, Owned> owners = new LinkedHashMap<>();
    for (List<Block> source : List.of(own, others)) {
      for (Block block : source) {
        owners
            .computeIfAbsent(
                Owners.of(block),
                owner ->
                    new Owned(
                        owner,
                        Owners.lastVersion(state, owner),
                        Fingerprint.of(owner, state.version()),
                        new ArrayList<>(1)))
            .blocks()
            .add(block);
      }
    }
    List<Owned> sorted = new ArrayList<>(owners.values());
    sorted.sort(Comparator.comparingLong(Owned::lastVersion).thenComparingLong(Owned::tie));
    return sorted;
  }
}
