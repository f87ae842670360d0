/**
 * A directory of any POSIX file system as an object store: {@link
 * io.batchweave.store.file.FileObjectStore}.
 *
 * <pre>
 * &lt;root&gt;/&lt;key&gt;                    an object; its folders are made on the way
 * &lt;root&gt;/~tmp/&lt;random&gt;/lock        one folder per writing store; the lock lives as long as the store
 * &lt;root&gt;/~tmp/&lt;random&gt;/&lt;number&gt;    an object being written
 * </pre>
 *
 * <p>A tilde is not allowed in a key, so nothing under {@code ~tmp} can be mistaken for an object.
 * An object is written to a temporary file, synced, and given its name by {@code link(2)} (create)
 * or {@code rename(2)} (replace); then its directory is synced. The names of its folders are synced
 * between the two, after the bytes, once per store, whoever made them: that another process made
 * one does not say that its name is on the disk. The name of the root is synced before both. The
 * temporary folders of dead stores, those whose lock can be taken, are removed by the next writer.
 * Other folders stay where they are, also when they are empty; only a probe takes away what it made
 * ({@link io.batchweave.store.file.NewFolders}). A pipe, socket or device where an object is
 * expected is refused without being opened, which might wait for ever; a folder there is no object.
 * Works where hard links and record locks work: local file systems, NFS, Lustre.
 */
package io.batchweave.store.file;
