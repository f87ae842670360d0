/**
 * Deterministic simulation: the real machines on a virtual clock against a modelled store, and a
 * checker that states what BatchWeave promises.
 *
 * <p>Start with {@link io.batchweave.simulate.Simulation}, which runs one seed, {@link
 * io.batchweave.simulate.Promise}, the list of what is checked, and {@link
 * io.batchweave.simulate.ModelStore}. May depend on every package of the protocol; nothing depends
 * on it but the command line and tests. Single-threaded, pure: a seed determines everything.
 *
 * <h2>One seed</h2>
 *
 * <pre>
 *   draw a scenario      producers, batches, readers, operators, history on the store, weather
 *   trouble              processes crash, pause, restart, run twice; clocks jump; requests are lost,
 *                        late, doubled, refused, and take effect without an answer
 *   calm                 the store works; the paused go on; every producer gets one last incarnation
 *   ... until everybody is done, or too long:  progress
 *   check                the store's contents, all requests, and everything any process was told
 * </pre>
 *
 * <p>A request takes effect and is answered in two events. Nothing a machine cannot know decides
 * for it: it sees answers and its own clock, which is a day off and may jump.
 *
 * <h2>Every interleaving</h2>
 *
 * {@link io.batchweave.simulate.Explorer} takes the same producer machines through every order of
 * effects, answers, deaths and starts of {@link io.batchweave.simulate.SmallCase}s, and tells
 * states apart by the machines' fingerprints. Time is a choice there: it comes to a machine that
 * waits for no answer.
 *
 * <h2>Length of history</h2>
 *
 * {@link io.batchweave.simulate.Flatness} says what opening, finding and committing cost the same
 * machines at a given length of the history, up to millions of versions.
 *
 * <h2>That it bites</h2>
 *
 * A bug is planted by a {@link io.batchweave.simulate.PlantedBug}, which stands between machines
 * and store; that each kind of bug is found is part of the tests.
 */
package io.batchweave.simulate;
