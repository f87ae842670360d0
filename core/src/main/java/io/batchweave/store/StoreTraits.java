package io.batchweave.store;

/**
 * What a store tells about itself, beyond what it does.
 *
 * @param versioning whether it keeps what is deleted or replaced
 * @param lifecycle whether rules of its own delete objects
 * @param checksums whether it verifies a checksum sent along with an upload
 */
public record StoreTraits(Trait versioning, Trait lifecycle, Trait checksums) {
  /** Of a store that tells nothing. */
  public static final StoreTraits NOT_TOLD =
      new StoreTraits(Trait.NOT_TOLD, Trait.NOT_TOLD, Trait.NOT_TOLD);

  /** An answer. */
  public enum Answer {
    /** It is so. */
    YES,
    /** It is not so. */
    NO,
    /** The store does not say. */
    NOT_TOLD
  }

  /**
   * One trait.
   *
   * @param answer whether it is there
   * @param detail what the store said, in a few words
   */
  public record Trait(Answer answer, String detail) {
    /** Nothing is known. */
    public static final Trait NOT_TOLD = new Trait(Answer.NOT_TOLD, "not told");
  }
}
