/**
 * Bytes and records, nothing else: envelope, codecs, the TGB layout, safetensors, names, limits.
 * This page is the normative text of BatchWeave's formats; the messages are the SBE schema {@code
 * native-include/batchweave-format.xml}, from which Java and C are generated.
 *
 * <p>Where to start: {@link io.batchweave.format.Block} and {@link
 * io.batchweave.format.ManifestVersion} (what is recorded), {@link
 * io.batchweave.format.ManifestCodec} (how), {@link io.batchweave.format.ObjectNames} (where),
 * {@link io.batchweave.format.TgbLayout} (the data). Everything here is pure and thread-safe: no
 * I/O, no state. It may depend on {@code io.batchweave.store} for value types only.
 *
 * <h2>Objects</h2>
 *
 * Every object of the log is an {@link io.batchweave.format.Envelope} around one message:
 *
 * <pre>
 *   0               8       10      12              16      20      24
 *  +---------------+-------+-------+---------------+-------+-------+--------- - -
 *  | magic         |format |min    | length of the | zero  |crc32c | body: one
 *  | "BWEAVE" + 2  |  u16  |reader | body      u32 |  u32  |  u32  | SBE message
 *  +---------------+-------+-------+---------------+-------+-------+--------- - -
 * </pre>
 *
 * Everything is little-endian. The checksum is CRC-32C (Castagnoli) over the bytes [0, 20) and the
 * body. A reader checks in this order: length, magic, recorded length, checksum (each: CORRUPT),
 * {@code min reader} at most its own format (else TOO_NEW), zero field, body.
 *
 * <table>
 *   <caption>Objects</caption>
 *   <tr><th>name</th><th>magic</th><th>message</th><th>at most</th></tr>
 *   <tr><td>{@code stream}</td><td>BWEAVEst</td><td>Stream</td><td>4 KiB</td></tr>
 *   <tr><td>{@code manifest/…}</td><td>BWEAVEmv</td><td>Version</td><td>1 MiB</td></tr>
 *   <tr><td>{@code snapshot/…}</td><td>BWEAVEsn</td><td>Snapshot</td><td>512 MiB</td></tr>
 *   <tr><td>{@code index/…}</td><td>BWEAVEix</td><td>Segment</td><td>4 MiB</td></tr>
 *   <tr><td>{@code announce/…}</td><td>BWEAVEan</td><td>Announcement</td><td>block + 256</td></tr>
 *   <tr><td>{@code data/….tgb}</td><td>BWEAVEtg, at the end</td><td>Footer</td><td>-</td></tr>
 *   <tr><td>{@code data/….state}</td><td>none: the producer's own bytes</td><td>-</td>
 *       <td>64 MiB</td></tr>
 * </table>
 *
 * An empty object under {@code manifest/} is a tombstone: its version was trimmed, its number stays
 * taken for ever.
 *
 * <h2>Messages</h2>
 *
 * A message begins with its SBE header {block length, template id, schema id, version}, 16 bits
 * each. A reader of format 1 takes schema 1, version 1 and exactly the block lengths of the schema;
 * a higher version is TOO_NEW. Group counts have 32 bits, names an 8-bit length, blobs a 32-bit
 * one. Nothing may stand behind the last field. A 128-bit id is two 64-bit halves, the high one
 * first.
 *
 * <p><b>Blocks</b> are opaque units: in a Version (group {@code blocks}) and in an Announcement a
 * block is a blob that holds one complete message, header included, at most 256 KiB. So a committer
 * copies it from one to the other as it is. Template ids 20 to 30 are blocks; an unknown one is
 * TOO_NEW and stops the reader. One undecodable block makes the object CORRUPT as a whole.
 *
 * <p><b>Entries</b> (inside Produce, Segment and Snapshot) are a table of data objects, in order of
 * first use and each used, then the TGBs that refer to it. Up to 256 slices stand in place, 16
 * bytes each {length u32, crc32c, samples u32, tokens u32}; their offsets are not recorded, the
 * layout below determines them. With more slices the group is empty and the footer has them. In a
 * Produce block entry i has seq {@code firstSeq + i} and all objects are the producer's own.
 *
 * <p><b>Deterministic</b>: equal records have equal bytes, and bytes that are accepted are exactly
 * what their record is encoded as. Lists of a Snapshot are sorted: producers, groups and counters
 * by name, sessions by version, pins by (session version, step, id), skips by (version, from). The
 * entries of a Snapshot are those of the unfinished segment, {@code nextStep mod 256} of them; a
 * Segment has 256. An operator's pin has session version 0; a session without a pin has last pin
 * -1.
 *
 * <p><b>Stream</b>: capabilities are bits; a reader that does not know one of the low 32 stops with
 * TOO_NEW, it may ignore the high 32. None is defined.
 *
 * <h2>TGB</h2>
 *
 * <pre>
 *  0                64·a             64·b                              64·n
 *  +-----------+----+-----------+----+-----------------+--------+---------+
 *  | slice 0   |zero| slice 1   |zero| …          zero | footer | trailer |
 *  +-----------+----+-----------+----+-----------------+--------+---------+
 *
 *  trailer:  0                4                8                16
 *            +----------------+----------------+----------------+
 *            | footer length  | crc32c of the  | "BWEAVEtg"     |
 *            |            u32 | footer     u32 |                |
 *            +----------------+----------------+----------------+
 * </pre>
 *
 * Slices stand in grid order (index {@code dp * cpSize + cp}), slice 0 at the TGB's start, each
 * other at the first multiple of 64 after the one before. Zero bytes stand before the footer so
 * that the TGB's length is a multiple of 64: several TGBs stand back to back in an object. The
 * footer is a Footer message: grid, length of the TGB, micro-batches (one number for all slices),
 * the slices, origin. In records a slice's offset counts from the start of the data object.
 *
 * <h2>Slices</h2>
 *
 * By default a slice is a complete {@linkplain io.batchweave.format.Safetensors safetensors} file
 * whose header is padded to a multiple of 64 and whose tensors follow by falling element size, so
 * that each is naturally aligned in the object and in shared memory.
 *
 * <h2>Limits</h2>
 *
 * {@link io.batchweave.format.Limits} has them all; each is checked by writers and by readers
 * before anything of that size is allocated. Names of producers, groups, sessions and checkpoints
 * are 1 to 64 characters of {@code [a-z0-9-]}.
 */
package io.batchweave.format;
