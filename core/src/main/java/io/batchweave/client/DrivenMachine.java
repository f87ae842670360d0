package io.batchweave.client;

import io.batchweave.log.Machine;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreRequests;
import io.batchweave.store.StoreRequests.PayloadSource;
import io.batchweave.store.StoreResponse;

/** One machine on an agent. All methods but {@link #stop} run on the agent's thread. */
final class DrivenMachine implements Machine.Requests {
  /** Told what happens to the machine, on the agent's thread. */
  interface Observer {
    /** The machine has taken an event. */
    void afterEvent();

    /** The machine threw: it will take no more events. */
    void onFailure(Throwable failure);
  }

  private final MachineAgent agent;
  private final Machine<?> machine;
  private final ObjectStore store;
  private final PayloadSource payloads;
  private final Observer observer;
  private boolean stopped;

  DrivenMachine(
      MachineAgent agent,
      Machine<?> machine,
      ObjectStore store,
      PayloadSource payloads,
      Observer observer) {
    this.agent = agent;
    this.machine = machine;
    this.store = store;
    this.payloads = payloads;
    this.observer = observer;
  }

  @Override
  public void send(long requestId, StoreRequest request) {
    var _ =
        StoreRequests.execute(store, request, payloads)
            .thenAccept(answer -> agent.executeIfOpen(() -> onAnswer(requestId, answer)));
  }

  private void onAnswer(long requestId, StoreResponse answer) {
    step(() -> machine.onResponse(requestId, answer, agent.nanoClock().nanoTime(), this));
  }

  /** Gives the machine the time. */
  void poke() {
    step(() -> machine.onTime(agent.nanoClock().nanoTime(), this));
  }

  private void step(Runnable event) {
    if (stopped) {
      return;
    }
    try {
      event.run();
      observer.afterEvent();
    } catch (RuntimeException | Error e) {
      fail(e);
    }
  }

  long wakeAtNs() {
    return stopped ? Long.MAX_VALUE : machine.wakeAtNs();
  }

  /** Ends the machine with a failure. */
  void fail(Throwable failure) {
    if (!stopped) {
      stopped = true;
      agent.remove(this);
      observer.onFailure(failure);
    }
  }

  /** Stops driving, from any thread: the machine gets no further event. */
  void stop() {
    agent.executeIfOpen(() -> {
      stopped = true;
      agent.remove(this);
    });
  }
}
