package io.batchweave.simulate;

/** A process of the simulation: a machine, its client, and what must have become of it. */
interface Participant {
  /** Its name, unique within the seed. */
  String name();

  /** Its place at the store. */
  ModelStore.Client client();

  /** Whether it has done all that is expected of it. */
  boolean done();

  /** What it is doing, for the message when it is not done. */
  String standing();
}
