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
 * {@link io.batchweave.simulate.Explorer} takes the same machines of producers, operators and the
 * collector through every order of effects, answers, deaths and starts of {@link
 * io.batchweave.simulate.SmallCase}s, and tells states apart by the machines' fingerprints of 64
 * bits; the chance that two different states had the same one is printed with their number.
 *
 * <p>What is not varied: the reads of one process are answered in the order in which they were
 * sent, each where it takes effect; time comes to a process only when it waits for no answer, and
 * its clock, which is nobody else's, then moves to the next full tick of the case (a second where
 * none is given; a machine may always be late). Answers take no time.
 *
 * <p>What is left out because nobody can tell the difference, and why:
 *
 * <ul>
 *   <li><b>Local first.</b> A process all of whose possible events are at hand and read nothing
 *       that others can change (an answer to what has taken effect, the time, a version that is
 *       there) is taken on alone, by each of these events and by its death. They commute with all
 *       that others do, and nothing that others do can give it another event: so these are a
 *       persistent set, and every end of the whole is an end of the reduced search. No state comes
 *       back in between, since each event uses up a request or a tick. A promise that is checked on
 *       the way (what one was told is in the log) only becomes easier to keep as the log grows, and
 *       local events come before the log grows.
 *   <li><b>Fates are drawn early.</b> Whether a change will be called unclear, or a conflict, is
 *       decided when it is sent: until the answer is heard nobody knows. One that will be called
 *       unclear is from then on a ghost's, which has it take effect at any time, heard or not.
 *   <li><b>Deaths wait.</b> A process that can still read, hear an answer or let its time come dies
 *       as well after that, unless it then has done its work, or has uploaded more: whoever dies
 *       later leaves behind all changes on their way that it would have left before, and those it
 *       sent since may never take effect. So one dies where it waits for its changes alone.
 *   <li><b>Vain creates are over.</b> A create of a version that is there, which nobody deletes,
 *       says so at any time and changes nothing: its answer is at hand, a ghost of it is gone.
 *   <li><b>Less to come is part of more.</b> A state that was seen with as many deaths and unclear
 *       answers to come, or more, is not looked at again.
 *   <li><b>Starts are at once.</b> A process that starts asks, and changes nothing; its first
 *       request may be answered at any later time.
 *   <li><b>What never takes effect</b> is as if it did after all else.
 *   <li><b>Ids of requests only tell apart.</b> Machines compare them and keep them in the order in
 *       which they gave them, and each of their parts listens to the youngest of its requests for
 *       one thing alone. So two processes are alike that wait for the same answers in the same
 *       order, each asked for by the same part, however many requests each has sent before; of a
 *       look or a round only counts whether it is still the newest.
 *   <li><b>Decided announcements are over.</b> A batch or a fence that the folded state has decided
 *       is known as such by its name for ever: whether a machine has seen that name in a LIST
 *       matters only once there are 32 of them to delete, and a case with so many announcements
 *       stops the search.
 *   <li><b>Uploads take effect at once</b> where nobody lists or deletes data: names are unique.
 *   <li><b>Snapshots and announcements</b> are taken to be left alone (nobody writes one of those,
 *       nobody deletes one of these); the first request that does begins the search again without.
 * </ul>
 *
 * That reduced and whole search reach the same ends is tested on cases that are small enough, and
 * that a whole search in which nothing is taken to be alike but equal histories of all processes
 * reaches them too. Producers are not exchanged for each other: ties are broken by their names.
 *
 * <h2>Length of history</h2>
 *
 * {@link io.batchweave.simulate.Flatness} says what opening, finding and committing cost the same
 * machines at a given length of the history, up to millions of versions.
 *
 * <h2>Fleets</h2>
 *
 * {@link io.batchweave.simulate.Fleet} is not about promises but about cost: the same producer
 * machines, up to thousands, at a steady load on a store with given {@link
 * io.batchweave.simulate.Latencies}; how long a batch takes to become visible and which requests it
 * needs. The figures are the same on every machine. Thousands fit on one heap because they share
 * what is equal: each version is decoded and folded once for all that stand at the same state
 * ({@code SharedFolding}). Where promises are checked every process folds for itself.
 *
 * <h2>A month</h2>
 *
 * {@link io.batchweave.simulate.Month} is one long run: producers, jobs that checkpoint, die and go
 * back, collectors always on. Its ledger remembers only what is above the horizon.
 *
 * <h2>That it bites</h2>
 *
 * A bug is planted by a {@link io.batchweave.simulate.PlantedBug}, which stands between machines
 * and store; that each kind of bug is found is part of the tests.
 */
package io.batchweave.simulate;
