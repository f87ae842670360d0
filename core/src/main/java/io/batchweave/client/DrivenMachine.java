package io.batchweave.client;

import io.batchweave.log.Machine;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreRequests;
import io.batchweave.store.StoreRequests.PayloadSource;
import io.batchweave.store.StoreResponse;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * One machine on an agent. All methods but {@link #stop} and {@link #waitsFor} run on the agent's
 * thread.
 */
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
  private final Map<Long, Sent> unanswered = new LinkedHashMap<>(); // guarded by itself
  private boolean stopped;

  private record Sent(String key, long sentNs) {}

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
    synchronized (unanswered) {
      unanswered.put(requestId, new Sent(request.key(), agent.nanoClock().nanoTime()));
    }
    var _ =
        StoreRequests.execute(store, request, payloads)
            .thenAccept(answer -> agent.executeIfOpen(() -> onAnswer(requestId, answer)));
  }

  private void onAnswer(long requestId, StoreResponse answer) {
    synchronized (unanswered) {
      unanswered.remove(requestId);
    }
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

  /** The requests without an answer, for messages: a silent store, or a machine out of work. */
  String waitsFor() {
    synchronized (unanswered) {
      if (unanswered.isEmpty()) {
        return "unanswered=0";
      }
      Sent oldest = unanswered.values().iterator().next();
      long sinceMs = (agent.nanoClock().nanoTime() - oldest.sentNs()) / 1_000_000;
      return "unanswered=" + unanswered.size() + " oldest=" + oldest.key() + " sinceMs=" + sinceMs;
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
