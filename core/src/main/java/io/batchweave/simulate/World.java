package io.batchweave.simulate;

import io.batchweave.commit.Decision;
import io.batchweave.log.Machine;
import io.batchweave.log.State;

/** What processes of a simulation know of it. */
interface World {
  /** The store, and the virtual time. */
  ModelStore store();

  /** Where what they are told is written down. */
  Chronicle chronicle();

  /** The bug, if one is planted. */
  PlantedBug bug();

  /** What the bug may do in the name of a client. */
  PlantedBug.Hands hands(ModelStore.Client client);

  /** Hangs a machine on the store under a name. */
  ModelStore.Client attach(String name, Machine<?> machine);

  /** The state of the log, which no machine may see. */
  State truth();

  /** The position of a producer's source that the log holds now. */
  long positionInLog(String producer);

  /** Ranks are done when this is their next step. */
  long readGoal();

  /** A producer stopped for good, by itself. */
  void onStopped(ProducerProcess process);

  /** An operator was told that its block is in the log. */
  void onAccepted(Decision decision);
}
