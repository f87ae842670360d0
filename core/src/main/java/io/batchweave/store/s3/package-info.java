/**
 * Any S3-compatible service as an object store: {@link io.batchweave.store.s3.S3ObjectStore}. The
 * only package that may import the AWS CRT.
 *
 * <table>
 * <caption>How each operation is sent</caption>
 * <tr><th>operation</th><th>request</th><th>through</th></tr>
 * <tr><td>putIfAbsent</td><td>PUT, {@code If-None-Match: *}, body signed by SHA-256</td><td>plain
 * connection, sent once</td></tr>
 * <tr><td>put</td><td>PUT, or a multipart upload above the size of two parts</td><td>plain
 * connection; {@code S3Client} for parts</td></tr>
 * <tr><td>get, head, list, delete</td><td>GET, HEAD, GET {@code ?list-type=2}, POST {@code
 * ?delete}</td><td>plain connection, bounded answer</td></tr>
 * <tr><td>getInto</td><td>ranged GETs, split into four parts at most, up to 128 MiB, and into
 * parts of 32 MiB beyond</td><td>{@code S3Client}, straight into the file, or lent to a receiver
 * that takes the bytes</td></tr>
 * </table>
 *
 * <p>The {@code S3Client} keeps parts whole, in native memory, until they are written. Of one range
 * at most 64 MiB are under way, however large it is; so {@code n} reads into files at once take
 * {@code n} times as much, and those in parts of one size {@code memoryLimitBytes} together. Two to
 * four seconds after the last read it is given back. With {@code partSizeBytes} above 32 MiB, it is
 * two parts.
 *
 * <p><b>Lent bytes</b>: a receiver that has mapped the file may take the parts from the memory into
 * which they came, without the kernel's copy into the file, and look at them while they lie in the
 * cache. For that the store keeps 64 MiB of direct memory for each size of parts that was asked for
 * so (three at most), which is one large range or eight small ones at a time. What finds no room
 * there is written into the file as ever, and so is a range that takes more than all of it, as two
 * parts above 32 MiB do. Where the JVM refuses the direct memory ({@code -XX:MaxDirectMemorySize}),
 * the store does not ask again for any size.
 *
 * <p>To take that memory lasts some 50 ms for each size of parts, and half a second where it is
 * refused, since the JVM first waits for what the collector may find. The store does that on a
 * thread of its own, so that nobody who asks for a range is kept, as a daemon's agent must not be.
 * The first ranges of a size begin when it is done: by file at once, they would take as much native
 * memory beside the direct one. Ranges in parts of a size that is there, and all that nobody takes
 * from memory, do not wait for it.
 *
 * <p>A conditional create counts as done on 200 alone and as existing on 412 alone; 409 is a
 * conflict, and any other answer, or none, says nothing about the effect. The conditional create
 * does not go through the {@code S3Client}, because that repeats a failed request at least once,
 * whatever its retry options say, and so may turn its own success into a 412.
 *
 * <p>Every request ends. The native client bounds the wait for a connection ({@code
 * connectTimeoutMs}), for the first byte of an answer and for every further one ({@code
 * requestTimeoutMs}); the whole may take {@code connectTimeoutMs + 2 * requestTimeoutMs} and a
 * second for every 256 KiB moved. Then a plain request is told to stop, and has failed five seconds
 * later even if the native client says nothing: as UNREACHABLE if it was never sent, else as
 * UNCLEAR. What goes through the {@code S3Client} has three times as long, for it repeats parts; it
 * is told to stop too, but has ended only when the client says so, since until then it may write
 * into the caller's file.
 *
 * <p>Connections are kept and used again. A service that closes each of them after its answer costs
 * more than a new one for every request: the native client waits for the timer of each connection
 * without sleeping, some 0.4 ms of a core three seconds later. Let such a service keep them
 * (versitygw: {@code --keep-alive}).
 *
 * <p>Addresses: path style puts the bucket into the path and the endpoint into {@code Host};
 * virtual style puts the bucket before the host. Callbacks run on native threads and do not block.
 */
package io.batchweave.store.s3;
