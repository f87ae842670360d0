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
 * or {@code rename(2)} (replace); then its directory is synced. Folders that are new are synced
 * between the two, after the bytes; the name of a root that is made here before both. Folders of
 * dead stores, those whose lock can be taken, are removed by the next writer; a store that closes
 * takes the folders away that it made and that are empty. A pipe, socket or device where an object
 * is expected is refused without being opened, which might wait for ever; a folder there is no
 * object. Works where hard links and record locks work: local file systems, NFS, Lustre.
 */
package io.batchweave.store.file;
