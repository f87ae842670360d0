package io.batchweave.store.probe;

/**
 * What one check found.
 *
 * @param name the check
 * @param verdict how it went
 * @param detail what was seen, and where it went wrong what that means
 */
public record ProbeCheck(String name, Verdict verdict, String detail) {
  /** How a check went. */
  public enum Verdict {
    /** As the contract says. */
    PASS,
    /** Only told: nothing depends on it. */
    INFO,
    /** Works, with something to know. */
    WARN,
    /** Not as the contract says: do not use this store. */
    FAIL
  }

  static ProbeCheck pass(String name, String detail) {
    return new ProbeCheck(name, Verdict.PASS, detail);
  }

  static ProbeCheck fail(String name, String detail) {
    return new ProbeCheck(name, Verdict.FAIL, detail);
  }
}
