package io.batchweave.bridge.memory;

/** How much of a processor a thread gets when others want it as well. */
public final class Niceness {
  /** Of a processor that one other thread wants, a tenth is left. */
  private static final int LEVELS = 10;

  private Niceness() {}

  /**
   * From now on the calling thread gives way to those that do not call this, by ten levels of
   * nice(1). The other threads of the process stay as they are; those that it starts inherit it.
   */
  public static void giveWay() {
    Posix.addNiceness(LEVELS);
  }
}
