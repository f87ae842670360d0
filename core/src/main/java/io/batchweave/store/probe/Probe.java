package io.batchweave.store.probe;

import io.batchweave.BatchWeaveException;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.StoreTraits;
import io.batchweave.store.StoreTraits.Answer;
import io.batchweave.store.StoreTraits.Trait;
import io.batchweave.store.probe.ProbeCheck.Verdict;
import io.batchweave.store.probe.ProbePlan.Scope;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.agrona.concurrent.NanoClock;

/** Runs the checks on one store and removes what they wrote. Used once, by one thread. */
public final class Probe {
  private static final long LINE_NS = TimeUnit.SECONDS.toNanos(2);

  private final ObjectStore store;
  private final ProbePlan plan;
  private final NanoClock clock;
  private final Consumer<String> progress;
  private final Scratch scratch;
  private final List<ProbeCheck> checks = new ArrayList<>();
  private long lastLineNs;

  /**
   * Prepares a probe; nothing is sent yet.
   *
   * @param store the store; stays open
   * @param plan how much to do
   * @param clock paces the lines of progress
   * @param progress takes a line every two seconds
   */
  public Probe(ObjectStore store, ProbePlan plan, NanoClock clock, Consumer<String> progress) {
    this.store = store;
    this.plan = plan;
    this.clock = clock;
    this.progress = progress;
    this.scratch = new Scratch(store, UUID.randomUUID(), plan.scope());
    this.lastLineNs = clock.nanoTime();
  }

  /** Everything it writes has keys with this prefix. */
  public String prefix() {
    return scratch.prefix();
  }

  /**
   * Runs all checks of the plan.
   *
   * @return what they found
   * @throws BatchWeaveException if the store cannot be used at all: wrong URL, credentials, nobody
   *     there
   */
  public ProbeReport run() {
    StoreTraits traits;
    String left;
    try {
      traits = runChecks();
    } finally {
      left = scratch.removeAll();
    }
    if (!left.isEmpty()) {
      checks.add(new ProbeCheck("clean-up", Verdict.WARN, left + "; delete them by hand"));
    }
    return new ProbeReport(store.url(), checks, traits);
  }

  private StoreTraits runChecks() {
    Conformance conformance = new Conformance(store, scratch);
    conformance.reach();
    run("create on existing", conformance::createOnExisting);
    CreateRace race = new CreateRace(store, scratch, plan.connections());
    checks.add(
        race.run(plan.rounds(), rounds -> line("create race: " + rounds + " of " + plan.rounds())));
    if (plan.scope() == Scope.EVERYTHING) {
      run("read after write", conformance::readAfterWrite);
      run("list after put and delete", conformance::listAfterWrite);
      line("pages of a list");
      checks.addAll(conformance.pages());
      run("ranged reads", conformance::rangedReads);
      run("large upload", conformance::largeUpload);
    }
    StoreTraits traits = Scratch.await(store.traits(scratch.key("traits")));
    checks.add(
        trait("checksum headers", traits.checksums(), Answer.NO, "our own checksums are checked"));
    checks.add(
        trait(
            "versioning",
            traits.versioning(),
            Answer.YES,
            "what is reclaimed stays and is paid for until the bucket drops old versions"));
    checks.add(
        trait(
            "lifecycle rules",
            traits.lifecycle(),
            Answer.YES,
            "make sure that none deletes objects of a stream"));
    return traits;
  }

  private static ProbeCheck trait(String name, Trait trait, Answer warn, String note) {
    return trait.answer() == warn
        ? new ProbeCheck(name, Verdict.WARN, trait.detail() + "; " + note)
        : new ProbeCheck(name, Verdict.INFO, trait.detail());
  }

  private void run(String name, Supplier<ProbeCheck> check) {
    line(name);
    checks.add(check.get());
  }

  private void line(String text) {
    long now = clock.nanoTime();
    if (now - lastLineNs >= LINE_NS) {
      lastLineNs = now;
      progress.accept(text);
    }
  }
}
