/**
 * The node daemon: follows streams, fetches what the node's ranks need of each step straight into
 * shared memory, and publishes it there. Start at {@link io.batchweave.bridge.daemon.Daemon}, its
 * settings are {@link io.batchweave.bridge.daemon.DaemonContext}, {@code serve} is {@link
 * io.batchweave.bridge.daemon.DaemonMain}.
 *
 * <pre>
 *                          one agent thread                          other threads
 *   ┌──────────────────────────────────────────────────────────┐
 *   │ DaemonAgent ── HandshakeServer   Hello, Welcome, Refused  │      MachineAgent: the log
 *   │     │                                                     │      stores: range requests
 *   │     ├── RingAgent  one per ring ── RingMachine (decides)  │      checking: CRC32C, 2 threads
 *   │     │      ├── RingReaders ── ReaderFile, a rank's        │      background: opens streams
 *   │     │      ├── ControlFile   a generation                 │      metrics: HTTP
 *   │     │      ├── StepSource ── StepFeed   what steps are    │
 *   │     │      └── RingFetches                                │
 *   │     └── Fetcher   range requests of all rings             │
 *   └──────────────────────────────────────────────────────────┘
 * </pre>
 *
 * <p>Where to look: {@code Daemon} puts the parts together, {@code DaemonDirectory} holds the lock
 * and removes what nobody holds, {@code FoundRings} reads what ranks still do, {@code RingFiles}
 * allocates the rings; {@code HelloCheck} says what is wrong with a Hello; {@code RingAgent}
 * carries out the commands of one ring; {@code StepSource} says what a step consists of and {@code
 * RegionPlan} where its slices lie; {@code Fetcher} sends range requests and checks what arrived;
 * {@code FailReasons} tells passing trouble from damage; {@code DaemonReport} is the text of a
 * scrape, {@code DaemonJson} that of {@code daemon.json}.
 *
 * <p><b>Threads.</b> The agent thread owns every file, ring and counter of the handshake; nothing
 * on it waits except the idle strategy, on the doorbell. Others bring it something by a queue and
 * wake it: range requests that ended, checksums, batches of steps. While anything waits for the
 * time to pass it looks every 20 ms, else, when nobody talks, no step is fetched and every rank
 * here waits for a commit, every 60 ms: so late a death is noticed then that is in nobody's way.
 * {@code Daemon}, {@code DaemonMetrics} and {@code DaemonReport} are thread-safe, the rest belongs
 * to the agent.
 *
 * <p><b>Decisions</b> are the {@link io.batchweave.bridge.ring.RingMachine}'s; this package carries
 * them out and brings it what happens. The shared bytes and who may write them when are in {@code
 * native-include/README.md}, attaching is the package page of {@code bridge.handshake}.
 *
 * <p><b>Sessions.</b> The first Hello of a session makes a {@code Launch} propose it to the log, or
 * find it there, in the background; Hellos wait for that ({@code Launches}). Its version is the
 * view: in Welcome, in the control file, and what the session passes over ({@link
 * io.batchweave.read.SessionView}). Nothing is registered that this node has no ring for. The
 * session's reader also watches its group ({@code GroupWatch}), at least every five seconds: when a
 * newer launch is in the log, the ring closes and its ranks are told SUPERSEDED.
 *
 * <p>No daemon ends a session, neither one that stops in the middle nor one whose ranks here have
 * all come to the sealed end: ranks of another node may still read, and no daemon knows of others;
 * a rank may go back within its session, and registers the checkpoint it writes after the last
 * step, which an ended session refuses. So a session protects what it may ask for until the next
 * launch, or {@code batchweave session end}: too much at times, never too little.
 *
 * <p>{@code Errands} registers checkpoints and asks how the stream stands, in the background and
 * with a deadline for each attempt; a rank that has waited for long is told NOT_YET with the
 * trouble and asks again, and finds the answer that came meanwhile.
 *
 * <p><b>A step that failed</b>: what the store does not have is looked up in the log first: below
 * the horizon it is RECLAIMED. With {@code --on-corrupt SKIP} a step whose bytes stay wrong is
 * skipped in the log before the ranks are told, once, whatever node comes first; launches from that
 * version on pass over it.
 *
 * <p><b>A session gets one ring.</b> Ranks of the same (stream, group, session) share it. A newer
 * session of a group takes over the ring of the older one, whose ranks are refused from then on
 * (SUPERSEDED). Otherwise a ring without live ranks is taken; when there is none, NO_RING. Before
 * anybody is refused a ring, it is looked once more which ranks have ended.
 *
 * <p><b>A step</b>: looked up without waiting, planned (adjacent slices are one request), offered
 * to the machine with its size, fetched to the place the machine gives it, each slice compared with
 * the manifest's checksum, on its way there if the store lends the bytes, else read back through
 * the mapping, its table written, then published. Wrong bytes are fetched again at once, {@code
 * --fetch-attempts} times; passing trouble is tried for ever and shown in the status that ranks
 * quote; refusals and damage that stays fail the step. The heap used per fetch does not depend on
 * the size of the slices.
 *
 * <p><b>Turns.</b> No more than {@code --fetches} requests are in flight, all rings together. They
 * are sent in the order in which the rings ask, and a ring asks for the regions that come next, not
 * for all that it has room for: one that begins beside a ring with a thousand small steps to fetch
 * waits for a few of these, and from then on both get as many requests.
 *
 * <p><b>What may be written</b>: nothing is published or freed while a request that may write there
 * is unfinished. Cancelled requests are waited for.
 *
 * <p><b>Start</b>: take {@code daemon.lock} (else exit: one daemon per directory), close every
 * generation that the daemon before left OPEN, read what living ranks hold ({@code FoundRings}),
 * remove the rest, saying how many bytes that was, use data files of the right size as they are and
 * allocate the others, start the driver, write {@code daemon.json}. A ring that ranks read goes on
 * in place: its next generation opens at once, fetching begins with the first Hello, and bytes that
 * are right are published without a request. Ranks that hold steps of a ring of another size, or
 * beyond {@code --rings}, are named and the start is refused. 8 MiB are kept in a file {@code
 * spare} and given back first thing by the next daemon, so that a restart works on a full file
 * system.
 *
 * <p><b>End</b>: ranks are told by CLOSED(SHUTDOWN), requests are waited for. Rings that ranks
 * still read are left to the next daemon, which goes on as after a kill; one line names them and
 * the ranks. Everything else but the lock file is removed. {@code serve} stays for two seconds
 * then, without the lock: ranks that are stopped together with it are gone by that time, and it
 * removes what it left. After that, and after a kill, it is the next daemon that does.
 *
 * <p><b>{@code daemon.json}</b>, replaced by rename, one object:
 *
 * <table>
 * <caption>daemon.json</caption>
 * <tr><td>format</td><td>1</td></tr>
 * <tr><td>abi</td><td>version of the shared-memory ABI; a client of another one does not attach</td></tr>
 * <tr><td>aeron</td><td>version of Aeron</td></tr>
 * <tr><td>aeronDirectory</td><td>relative to the daemon directory</td></tr>
 * <tr><td>helloStreamId</td><td>Aeron stream of Hello</td></tr>
 * <tr><td>pid, pageSizeBytes, hold</td><td>numbers; the pid is for people</td></tr>
 * <tr><td>streams</td><td>list of {url}, as to be named in Hello</td></tr>
 * <tr><td>rings</td><td>list of {ring, dataFile, sizeBytes}</td></tr>
 * <tr><td>metrics</td><td>URL of the Prometheus metrics, on the loopback address</td></tr>
 * </table>
 *
 * <p>May depend on everything above it: {@code bridge.memory}, {@code bridge.ring}, {@code
 * bridge.handshake} and the core; not on {@code bridge.rank}.
 */
@NullMarked
package io.batchweave.bridge.daemon;

import org.jspecify.annotations.NullMarked;
