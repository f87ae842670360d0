package io.batchweave.simulate;

import io.batchweave.Bytes;
import io.batchweave.commit.Decision;
import io.batchweave.commit.Proposal;
import io.batchweave.commit.ProposalMachine;
import io.batchweave.format.Block;
import io.batchweave.format.Block.Takeover;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.Bits;
import io.batchweave.log.FollowPolicy;
import io.batchweave.log.PinState;
import io.batchweave.log.SessionState;
import io.batchweave.read.StepResult;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A training job of a {@link Month}: nodes that read in step, a checkpoint now and then, launches
 * that die and go on from a checkpoint, not always the newest. Of each step one node reads its
 * slice; each node's slices are every so many steps apart.
 */
final class MonthJob {
  /** Steps from one checkpoint to the next. */
  static final int CHECKPOINT_STEPS = 500;

  private static final int KEEP = 3;
  private static final long TICK_NS = 50_000_000L;
  private static final int PREFETCH_STEPS = 256;

  private final Month month;
  private final String group;
  private final long stepsPerTick;
  private final long total;
  private final Bits bits;
  private final List<Node> nodes = new ArrayList<>();
  private long launches;
  private long view = -1;
  private long paced;
  private long nextPin;
  private boolean pinning;
  private int checkpoints;

  MonthJob(Month month, String group, int nodeCount, long stepsPerTick, long total, Bits bits) {
    this.month = month;
    this.group = group;
    this.stepsPerTick = stepsPerTick;
    this.total = total;
    this.bits = bits;
    for (int i = 0; i < nodeCount; i++) {
      nodes.add(new Node(i, i, nodeCount));
    }
    launch(0);
    tick();
  }

  /** Every step below is trained on. */
  long trained() {
    long trained = total;
    for (Node node : nodes) {
      trained = Math.min(trained, node.next() >= total ? total : node.next() - node.index());
    }
    return Math.max(0, trained);
  }

  /** About where it stands: no further than its nodes may read. */
  long paced() {
    return paced;
  }

  boolean done() {
    return trained() >= total;
  }

  long launches() {
    return launches;
  }

  int checkpoints() {
    return checkpoints;
  }

  private String sessionId() {
    return group + "-" + launches;
  }

  /** Dies and starts again from the newest checkpoint, or from an older one that is kept. */
  void restart(boolean fromAnOlderOne) {
    List<PinState> pins = month.ledger().state().group(group).pins();
    if (view < 0 || done()) {
      return;
    }
    int back = fromAnOlderOne ? (int) bits.nextBelow(Math.max(1, pins.size())) : 0;
    launch(pins.isEmpty() ? 0 : pins.get(pins.size() - 1 - back).step());
  }

  /** A node's machine dies; another takes its place at the step where the job stands. */
  void replaceNode() {
    int index = (int) bits.nextBelow(nodes.size());
    nodes.get(index).kill();
    nodes.set(index, new Node(index, nodes.get(index).next(), nodes.size()));
  }

  private void launch(long startStep) {
    launches++;
    view = -1;
    String session = sessionId();
    propose(
        state ->
            new Block.OpenSession(
                group, session, startStep, Takeover.SUPERSEDE, state.group(group).changed()),
        decision -> {
          if (!session.equals(sessionId())) {
            return;
          }
          if (!decision.accepted()) {
            refused(session, startStep, decision);
            return;
          }
          view = decision.version();
          paced = startStep;
          nextPin = startStep + CHECKPOINT_STEPS;
          pinning = false;
          nodes.forEach(node -> node.seek(startStep));
        });
  }

  /**
   * A checkpoint that the launch before registered while it died may have put the chosen one out of
   * those kept: then the job goes back to the newest. What is kept may never be refused.
   */
  private void refused(String session, long startStep, Decision decision) {
    List<PinState> pins = month.ledger().state().group(group).pins();
    if (pins.isEmpty() || pins.stream().anyMatch(pin -> pin.step() == startStep)) {
      month.ledger().broken(Promise.RETAINED, session + " at " + startStep + " " + decision);
      return;
    }
    launch(pins.getLast().step());
  }

  private void tick() {
    if (done()) {
      return;
    }
    if (view >= 0) {
      long trained = trained();
      paced = Math.min(total, Math.min(paced + stepsPerTick, trained + PREFETCH_STEPS));
      nodes.forEach(Node::touch);
      if (trained >= nextPin && !pinning) {
        pin(nextPin);
      }
    }
    month.store().after(TICK_NS, this::tick);
  }

  private void pin(long step) {
    pinning = true;
    String session = sessionId();
    long then = view;
    propose(
        state -> {
          SessionState live = state.group(group).session();
          return live == null || step <= live.lastPin()
              ? null
              : new Block.Pin(group, session, then, "at-" + step, step, KEEP);
        },
        decision -> {
          if (then != view) {
            return;
          }
          if (!decision.accepted()) {
            month.ledger().broken(Promise.RETAINED, "pin at " + step + " " + decision);
          }
          pinning = false;
          checkpoints++;
          nextPin = step + CHECKPOINT_STEPS;
        });
  }

  private void propose(Proposal proposal, Consumer<Decision> told) {
    ProposalMachine machine =
        new ProposalMachine(proposal, FollowPolicy.DEFAULT, new Bits(bits.nextLong()));
    ModelStore.Client client = month.attach(machine, group);
    client.afterEvent(() -> {
      Decision decision = machine.decision();
      if (machine.failure() != null) {
        month.ledger().broken(Promise.NO_UNEXPECTED_STOP, group + " " + machine.failure());
      }
      if (decision != null && client.alive()) {
        client.crash();
        told.accept(decision);
      }
    });
    client.touch();
  }

  /** One node: a daemon that follows the stream and reads its slice. */
  private final class Node implements RankMachine.Listener {
    private final int index;
    private final int dp;
    private final RankMachine machine;
    private final ModelStore.Client client;

    Node(int index, long firstStep, int stride) {
      this.index = index;
      this.dp = index % Source.GRID.dp();
      this.machine =
          new RankMachine(dp, firstStep, 0, this, new Bits(bits.nextLong()), stride, () -> paced);
      this.client = month.attach(machine, group + "/" + index);
    }

    int index() {
      return index;
    }

    long next() {
      return machine.next();
    }

    void kill() {
      client.crash();
    }

    void seek(long startStep) {
      machine.seek(startStep + index);
      client.touch();
    }

    void touch() {
      if (machine.next() < paced) {
        client.touch();
      }
    }

    @Override
    public StepResult told(long step, StepResult result) {
      switch (result) {
        case StepResult.Ready ready -> {
          if (!ready.entry().equals(month.ledger().entry(step))) {
            month.ledger().broken(Promise.READ_IS_THE_LOG, client.name() + " step=" + step);
          }
        }
        case StepResult.Reclaimed gone ->
            month.ledger().broken(Promise.RETAINED, client.name() + " step=" + step + " " + gone);
        case StepResult.Failed failed ->
            month
                .ledger()
                .broken(Promise.EVERY_STEP_READABLE, client.name() + " " + failed.cause());
        default -> {}
      }
      return result;
    }

    @Override
    public void fetched(long step, TgbEntry entry, @Nullable Bytes body) {
      Bytes made = Source.slice(entry.object().producer(), entry.seq(), dp);
      if (body == null || !body.equals(made)) {
        month.ledger().broken(Promise.SAME_BYTES_FOR_ALL, client.name() + " step=" + step);
      }
    }
  }
}
