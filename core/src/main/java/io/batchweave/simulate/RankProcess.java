package io.batchweave.simulate;

import io.batchweave.Bytes;
import io.batchweave.format.SliceEntry;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.Bits;
import io.batchweave.read.StepResult;
import org.jspecify.annotations.Nullable;

/** A process that reads one rank's slices, step after step. */
final class RankProcess implements Participant, RankMachine.Listener {
  private final World world;
  private final String name;
  private final int dp;
  private final long view;
  private final RankMachine machine;
  private final ModelStore.Client client;
  private boolean stopped;

  /**
   * Starts a process at a step.
   *
   * @param view version of its session, 0 for none
   */
  RankProcess(World world, String name, int dp, long firstStep, long view, long seed) {
    this.world = world;
    this.name = name;
    this.dp = dp;
    this.view = view;
    this.machine = new RankMachine(dp, firstStep, view, this, new Bits(seed));
    this.client = world.attach(name, machine);
    client.afterEvent(this::drain);
    world
        .chronicle()
        .note(name, () -> "starts at step " + firstStep + " dp " + dp + " view " + view);
    world.chronicle().views.put(name, view);
    client.touch();
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public ModelStore.Client client() {
    return client;
  }

  int dp() {
    return dp;
  }

  /** Version of its session. */
  long view() {
    return view;
  }

  /** The next step it will read: what its token says. */
  long next() {
    return machine.next();
  }

  @Override
  public boolean done() {
    return stopped || !client.alive() || machine.ended() || machine.next() >= world.readGoal();
  }

  @Override
  public String standing() {
    return "dp="
        + dp
        + " next="
        + machine.next()
        + " lookup="
        + machine.reader().lookup(machine.next())
        + " trouble="
        + machine.reader().trouble();
  }

  @Override
  public StepResult told(long step, StepResult said) {
    StepResult result = world.bug().told(step, said);
    switch (result) {
      case StepResult.Ready ready ->
          world.chronicle().described.add(new Chronicle.Described(name, step, ready.entry()));
      case StepResult.End end -> {
        world.chronicle().ended.add(new Chronicle.Ended(name, step, end.endStep()));
        world.chronicle().note(name, () -> "is told: the stream ends at " + end.endStep());
      }
      case StepResult.Failed failed ->
          world
              .chronicle()
              .broken(Promise.EVERY_STEP_READABLE, name, 0, String.valueOf(failed.cause()));
      default -> {}
    }
    return result;
  }

  @Override
  public void fetched(long step, TgbEntry entry, @Nullable Bytes body) {
    SliceEntry slice = entry.slices().get(dp);
    Bytes expected = Source.slice(entry.object().producer(), entry.seq(), dp);
    boolean right =
        body != null
            && body.equals(expected)
            && body.length() == slice.lengthBytes()
            && RankMachine.crc32c(body) == slice.crc32c();
    String detail =
        "step=" + step + " object=" + entry.object() + (body == null ? " missing" : " differs");
    world
        .chronicle()
        .read
        .add(
            new Chronicle.Read(
                name, step, dp, body == null ? -1 : body.length(), right, right ? "" : detail));
    world.chronicle().note(name, () -> right ? "reads step " + step : "reads BADLY " + detail);
  }

  private void drain() {
    if (machine.reader().log().failure() != null && !stopped) {
      stopped = true;
      String cause = String.valueOf(machine.reader().log().failure());
      world.chronicle().broken(Promise.NO_UNEXPECTED_STOP, name, 0, cause);
    }
  }
}
