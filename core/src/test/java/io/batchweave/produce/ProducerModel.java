package io.batchweave.produce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.Bytes;
import io.batchweave.format.Envelope;
import io.batchweave.format.Grid;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SourceState;
import io.batchweave.format.StreamCodec;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.Bits;
import io.batchweave.log.BlockOutcome;
import io.batchweave.log.Fold;
import io.batchweave.log.FoldOutcome;
import io.batchweave.log.FollowPolicy;
import io.batchweave.log.ProducerState;
import io.batchweave.log.State;
import io.batchweave.simulate.ModelStore;
import io.batchweave.store.StoreRequest;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Collectors;

/**
 * Producers on a modelled store, and the checker of what they promise. The source of every producer
 * is the sequence 1, 2, 3, …; its state after batch n is the number n (padded where it has to be an
 * object of its own), so that state and seq must agree for ever.
 */
final class ProducerModel {
  static final Grid GRID = new Grid(1, 1);
  private static final long FEED_NS = 7_000_000;
  private static final Tgb TGB =
      new TgbBuilder(GRID).slice(0, 0, Bytes.wrap(new byte[] {1, 2, 3}), 1, 1, 1).build();

  final ModelStore store;
  final UUID streamId;
  final List<Incarnation> processes = new ArrayList<>();
  private final Bits bits;
  private int maxPending = 4;

  ProducerModel(long seed) {
    this.bits = new Bits(seed);
    this.store = new ModelStore(bits.nextLong());
    this.streamId = bits.nextId();
    byte[] stream =
        StreamCodec.encode(
            new StreamDescriptor(streamId, Envelope.FORMAT, GRID.dp(), GRID.cp(), 0));
    store.objects().put(ObjectNames.STREAM, Bytes.wrap(stream));
  }

  Bits bits() {
    return bits;
  }

  /** How many batches a process may have pending: with many they share objects. */
  void maxPending(int newMaxPending) {
    maxPending = newMaxPending;
  }

  /** The state after a batch: larger than a block may carry for every seventh. */
  static Bytes stateAfter(long seq) {
    String digits = Long.toString(seq);
    String text = seq % 7 == 0 ? digits + " ".repeat(5_000) : digits;
    return Bytes.wrap(text.getBytes(StandardCharsets.US_ASCII));
  }

  static long seqOf(Bytes state) {
    String text = new String(state.toByteArray(), StandardCharsets.US_ASCII).strip();
    return text.isEmpty() ? 0 : Long.parseLong(text);
  }

  /** Starts an incarnation that adds batches up to a seq. */
  Incarnation start(String producer, long lastSeq) {
    Incarnation process = new Incarnation(producer, lastSeq, bits.nextLong());
    processes.add(process);
    process.tick();
    return process;
  }

  /** One incarnation: a process that adds batches up to the number that may be pending. */
  final class Incarnation {
    final String producer;
    final ProducerMachine machine;
    final ModelStore.Client client;
    final List<ProducerMachine.Committed> acknowledged = new ArrayList<>();
    final long lastSeq;
    boolean crashed;
    private boolean began;
    private long beganAt;

    private Incarnation(String producer, long lastSeq, long seed) {
      this.producer = producer;
      this.lastSeq = lastSeq;
      this.machine = new ProducerMachine(producer, 2, FollowPolicy.DEFAULT, new Bits(seed));
      this.client = store.attach(machine);
    }

    void crash() {
      crashed = true;
      client.crash();
    }

    boolean done() {
      drain();
      return machine.phase() == ProducerMachine.Phase.LIVE
          && machine.nextSeq() > lastSeq
          && machine.drained();
    }

    boolean ended() {
      return crashed || machine.phase() == ProducerMachine.Phase.FAILED;
    }

    private void tick() {
      if (crashed) {
        return;
      }
      drain();
      if (machine.phase() == ProducerMachine.Phase.LIVE) {
        if (!began) {
          began = true;
          beganAt = machine.nextSeq();
          assertEquals(beganAt - 1, seqOf(machine.sourceState()), "recovered source state");
        }
        while (machine.nextSeq() <= lastSeq
            && machine.nextSeq() - machine.committedSeq() < maxPending) {
          long seq = machine.nextSeq();
          client.payload(2 * seq + 1, stateAfter(seq));
          assertEquals(seq, machine.add(TGB, stateAfter(seq)));
        }
      }
      client.touch();
      drain();
      if (!ended() && !done()) {
        store.after(FEED_NS, this::tick);
      }
    }

    private void drain() {
      for (ProducerMachine.Committed committed = machine.nextCommitted();
          committed != null;
          committed = machine.nextCommitted()) {
        acknowledged.add(committed);
      }
    }
  }

  /** The whole log, folded from version 1. */
  static final class Log {
    final State state;
    final List<TgbEntry> entries = new ArrayList<>();
    final List<FoldOutcome> outcomes = new ArrayList<>();

    Log(UUID streamId, Map<String, Bytes> objects) {
      state = State.empty(streamId);
      for (long version = 1; ; version++) {
        String name = ObjectNames.version(version);
        Bytes body = objects.get(name);
        if (body == null) {
          return;
        }
        FoldOutcome outcome = Fold.apply(state, ManifestCodec.decode(name, body));
        outcomes.add(outcome);
        for (BlockOutcome block : outcome.blocks()) {
          if (block.accepted()
              && block.block() instanceof io.batchweave.format.Block.Produce produce) {
            entries.addAll(produce.entries());
          }
        }
      }
    }
  }

  Log log() {
    return new Log(streamId, store.objects());
  }

  /** Checks everything that must hold at any time, whatever went wrong. */
  void check() {
    Log log = log();
    assertEquals(log.entries.size(), log.state.nextStep());
    Map<String, Long> nextSeqs = new TreeMap<>();
    for (TgbEntry entry : log.entries) {
      long expected = nextSeqs.getOrDefault(entry.object().producer(), 1L);
      assertEquals(expected, entry.seq(), "seqs are contiguous, each once");
      nextSeqs.put(entry.object().producer(), expected + 1);
      assertTrue(
          store.objects().containsKey(ObjectNames.data(entry.object())), "data object exists");
    }
    nextSeqs.forEach((producer, nextSeq) -> checkSource(log.state, producer, nextSeq));
    for (FoldOutcome outcome : log.outcomes) {
      assertFalse(outcome.isVoid(), "no version is void");
    }
    processes.forEach(process -> checkAcknowledged(log, process));
  }

  private void checkSource(State state, String producer, long nextSeq) {
    ProducerState folded = state.producer(producer);
    assertNotNull(folded);
    assertEquals(nextSeq, folded.nextSeq());
    Bytes source =
        switch (folded.sourceState()) {
          case SourceState.Inline(Bytes bytes) -> bytes;
          case SourceState.External external ->
              store.objects().get(ObjectNames.state(external.object()));
        };
    assertNotNull(source, "state object exists");
    assertEquals(nextSeq - 1, seqOf(source), "source state matches the seqs");
  }

  private static void checkAcknowledged(Log log, Incarnation process) {
    Set<String> own =
        process.client.sent().stream()
            .filter(StoreRequest.Upload.class::isInstance)
            .map(StoreRequest::key)
            .collect(Collectors.toSet());
    Set<Long> seqs = new TreeSet<>();
    for (ProducerMachine.Committed committed : process.acknowledged) {
      assertTrue(seqs.add(committed.seq()), "acknowledged once");
      TgbEntry entry = log.entries.get((int) committed.step());
      assertEquals(committed.seq(), entry.seq());
      assertEquals(process.producer, entry.object().producer());
      assertTrue(own.contains(ObjectNames.data(entry.object())), "its own object, not another's");
    }
  }
}
