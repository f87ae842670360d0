/**
 * Attaching a rank to the node daemon: a short exchange over Aeron IPC, after which the rank closes
 * its Aeron client and works from shared memory alone. The messages are {@code
 * native-include/batchweave-handshake.xml}; this page is the protocol.
 *
 * <p>Start at {@link io.batchweave.bridge.handshake.HandshakeProtocol} (channel, streams, times).
 * Only this package imports Aeron.
 *
 * <pre>
 *   rank                                               daemon (media driver and client on one thread)
 *   ----                                               ----------------------------------------------
 *   create, lock, map  &lt;random128&gt;.reader
 *   read daemon.json: ABI, Aeron directory
 *   connect an Aeron client   (driver timeout 500 ms, keep-alive 100 ms)
 *   welcomeStreamId = (int) nextCorrelationId()
 *   add subscription          aeron:ipc, welcomeStreamId, ring the doorbell
 *   add exclusive publication aeron:ipc, HELLO_STREAM_ID, ring the doorbell
 *   offer Hello  -------------------------------------&gt;  one subscription: aeron:ipc, HELLO_STREAM_ID
 *                                                       decide; probe the reader file's lock
 *                                                       asyncAddExclusivePublication(welcomeStreamId)
 *   poll         &lt;-------------------------------------  offer Welcome or Refused, close at most 2 s later
 *   close the Aeron client
 *   map the control and data files named by Welcome
 * </pre>
 *
 * <table>
 * <caption>Constants</caption>
 * <tr><td>channel, both ways</td><td>{@code aeron:ipc}</td></tr>
 * <tr><td>Hello stream</td><td>1112342529 (0x424D0001)</td></tr>
 * <tr><td>Welcome stream</td><td>low 32 bits of the rank's next correlation id; another one when
 *     that is the Hello stream</td></tr>
 * <tr><td>IPC term length</td><td>65536, set by the driver; a client names none</td></tr>
 * <tr><td>MTU</td><td>1408: a message with its 8-byte SBE header is at most 1376 bytes and never
 *     fragmented</td></tr>
 * <tr><td>one attempt</td><td>1500 ms from adding the publication to the answer, then a fresh
 *     Aeron client (or fresh publication and subscription) and the same Hello with another
 *     {@code attempt} and {@code welcomeStreamId}</td></tr>
 * <tr><td>answer</td><td>the daemon drops its publication after 2000 ms</td></tr>
 * <tr><td>rank's Aeron client</td><td>driver timeout 500 ms, keep-alive interval 100 ms</td></tr>
 * <tr><td>Aeron directory</td><td>{@code aeron/} in the daemon directory</td></tr>
 * </table>
 *
 * <p><b>The doorbell.</b> A daemon to which nobody talks sleeps for up to 60 ms. A rank that has
 * sent the driver a command and waits for its answer rings the doorbell, so that it is heard at
 * once; one that does not is heard when the sleep ends. From then on, until the publications of all
 * ranks are closed, the daemon looks every 20 ms or more often.
 *
 * <p><b>Hello is idempotent.</b> The attachment is the reader file: every attempt of one attachment
 * names the same file, the daemon answers the newest. An answer whose {@code attempt} is not the
 * one just sent is ignored. A Hello whose reader file lost its lock is dropped.
 *
 * <p><b>Not yet.</b> A Hello that cannot be decided at once (other local readers are awaited, the
 * stream is being opened, a generation is changing) is held for up to 800 ms and then answered by
 * {@code Refused(NOT_YET)}: the rank says Hello again after {@code retryAfterMillis}, on the same
 * publication and subscription if it likes, until its own deadline; the text of the last such
 * answer is what it quotes then. Every other refusal is final for this attachment, except {@code
 * CLOSING}: the rank looks for the next daemon until its deadline.
 *
 * <p><b>Sessions.</b> A Hello names group and session. {@code nextStep} -1: the rank starts at its
 * token, else where the session starts; all that say so must agree, else {@code START_DISAGREES}. A
 * step says that the rank was in the session before, and {@code viewVersion}, as Welcome told it,
 * proves it: such a session is never registered anew; when it is over, {@code SUPERSEDED}.
 *
 * <p><b>Other requests</b> use the same two streams, need no reader file, and are idempotent as
 * well: {@code Checkpoint} (a model checkpoint is durable), answered by {@code Registered} once the
 * log has it, and {@code Question}, answered by {@code Status} (the stream at its head). What the
 * log has not decided within 800 ms is {@code NOT_YET}: say it again. Every request has its attempt
 * at offset 0 of its block and its Welcome stream at 16.
 *
 * <p><b>A client that dies anywhere in this must not hold up another.</b> Each rank has its own
 * exclusive publication, so an abandoned claim blocks only its own session; what it leaves in the
 * driver's command ring is unblocked after 700 ms; the driver forgets it after 750 ms.
 *
 * <p><b>Version skew</b> is told before anything is sent: {@code daemon.json} names the ABI.
 */
package io.batchweave.bridge.handshake;
