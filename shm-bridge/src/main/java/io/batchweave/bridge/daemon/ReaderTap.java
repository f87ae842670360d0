package io.batchweave.bridge.daemon;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.memory.LockProbe;
import io.batchweave.bridge.memory.Mapping;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.Protection;
import io.batchweave.bridge.ring.Attachment;
import io.batchweave.bridge.ring.GenerationHeader;
import io.batchweave.bridge.ring.Id128;
import io.batchweave.bridge.ring.ReaderDescriptor;
import io.batchweave.bridge.ring.ReaderHeader;
import io.batchweave.bridge.ring.ReaderView;
import io.batchweave.bridge.ring.RingAbi;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * One rank's reader file, watched by the daemon: its lock, what it has taken, what it has released.
 * The rank may have cut the file short: then every access fails with an InternalError, and the rank
 * counts as dead.
 */
final class ReaderTap implements ReaderView, AutoCloseable {
  /** Says nothing: for a reader file that is gone. */
  static final ReaderView NOTHING =
      new ReaderView() {
        @Override
        public boolean isAttached() {
          return false;
        }

        @Override
        public long taken() {
          return 0;
        }

        @Override
        public boolean isAcked(long n) {
          return false;
        }
      };

  private final Path path;
  private final Id128 id;
  private final LockProbe probe;
  private final Mapping mapping;
  private final MemorySegment reader;
  private final ReaderHeader header;
  private @Nullable GenerationHeader generation;
  private boolean attached;
  private boolean cutShort;
  private long lastStall;

  private ReaderTap(Path path, Id128 id, LockProbe probe, Mapping mapping) {
    this.path = path;
    this.id = id;
    this.probe = probe;
    this.mapping = mapping;
    this.reader = mapping.segment();
    this.header = ReaderDescriptor.readHeader(id.toString(), reader);
  }

  /**
   * Opens one.
   *
   * @param memory the system
   * @param directory the daemon directory
   * @param id of the reader file
   * @return null when there is no such file
   * @throws BatchWeaveException when it is not what the ABI says
   */
  static @Nullable ReaderTap open(NativeMemory memory, Path directory, Id128 id) {
    Path path = directory.resolve(RingAbi.readerName(id));
    LockProbe probe = LockProbe.open(memory, path);
    if (probe == null) {
      return null;
    }
    Mapping mapping = null;
    try {
      long length = probe.file().lengthBytes();
      if (length < ReaderDescriptor.LENGTH) {
        throw new BatchWeaveException(
            Kind.CORRUPT, "reader file too short: file=" + path + " length=" + length);
      }
      mapping = probe.file().map(ReaderDescriptor.LENGTH, Protection.READ);
      ReaderTap tap = new ReaderTap(path, id, probe, mapping);
      if (!tap.header.id().equals(id)) {
        throw new BatchWeaveException(
            Kind.CORRUPT, "reader file of another name: file=" + path + " id=" + tap.header.id());
      }
      return tap;
    } catch (RuntimeException | InternalError e) {
      if (mapping != null) {
        mapping.close();
      }
      probe.close();
      throw e;
    }
  }

  Id128 id() {
    return id;
  }

  ReaderHeader header() {
    return header;
  }

  /** Whether the rank lives. */
  boolean isLocked() {
    return !cutShort && probe.isLocked();
  }

  /** The generation that Welcome named; null before. */
  @Nullable GenerationHeader generation() {
    return generation;
  }

  /** Says which generation the rank was put in. */
  void welcomed(GenerationHeader header) {
    generation = header;
    attached = false; // what it wrote about a former one does not count
  }

  @Override
  public boolean isAttached() {
    GenerationHeader expected = generation;
    if (attached || expected == null || cutShort) {
      return attached && !cutShort;
    }
    try {
      Attachment attachment = ReaderDescriptor.attachmentLoadAcquire(reader);
      attached = attachment != null && attachment.generationId().equals(expected.generationId());
      return attached;
    } catch (InternalError gone) {
      cutShort = true;
      return false;
    }
  }

  @Override
  public long taken() {
    if (!isAttached()) {
      return 0;
    }
    try {
      return ReaderDescriptor.takenLoadAcquire(reader);
    } catch (InternalError gone) {
      cutShort = true;
      return 0;
    }
  }

  @Override
  public boolean isAcked(long n) {
    GenerationHeader expected = generation;
    if (expected == null || !isAttached()) {
      return false;
    }
    try {
      return ReaderDescriptor.isAckedLoadAcquire(reader, n, expected.descriptorCount());
    } catch (InternalError gone) {
      cutShort = true;
      return false;
    }
  }

  /** Whether it waits, since the last look, for a step that is not there yet. */
  boolean startsToWait(long publishedCount) {
    if (!isAttached()) {
      return false;
    }
    try {
      long waitsFor = ReaderDescriptor.waitingLoadAcquire(reader);
      boolean stalls = waitsFor > publishedCount && waitsFor != lastStall;
      lastStall = stalls ? waitsFor : lastStall;
      return stalls;
    } catch (InternalError gone) {
      cutShort = true;
      return false;
    }
  }

  /** Takes the name away: the rank is gone and never comes back under it. */
  void unlink() {
    try {
      Files.deleteIfExists(path);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    mapping.close();
    probe.close();
  }
}
