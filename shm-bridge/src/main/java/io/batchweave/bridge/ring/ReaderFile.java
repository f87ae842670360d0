package io.batchweave.bridge.ring;

import io.batchweave.BatchWeaveException;
import io.batchweave.bridge.memory.LockProbe;
import io.batchweave.bridge.memory.Mapping;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.Protection;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * A rank's reader file in the eyes of the daemon: whether its lock is held, and what the rank
 * wrote. Mapped read-only; nothing in it is believed. A rank that cuts it short counts as dead.
 * Owned by one thread.
 */
public final class ReaderFile implements ReaderView, AutoCloseable {
  private final Path path;
  private final LockProbe probe;
  private final Mapping mapping;
  private final MemorySegment segment;
  private final ReaderHeader header;
  private @Nullable GenerationHeader generation;
  private boolean attached;
  private boolean cutShort;
  private long lastStall;

  private ReaderFile(Path path, LockProbe probe, Mapping mapping, ReaderHeader header) {
    this.path = path;
    this.probe = probe;
    this.mapping = mapping;
    this.segment = mapping.segment();
    this.header = header;
  }

  /**
   * Opens one.
   *
   * @param memory the system
   * @param directory the daemon directory
   * @param id the 128 bits of its name
   * @return null when there is no such file
   * @throws BatchWeaveException when it is not a reader file of this ABI, or of another id
   */
  public static @Nullable ReaderFile open(NativeMemory memory, Path directory, Id128 id) {
    Path path = directory.resolve(RingAbi.readerName(id));
    LockProbe probe = LockProbe.open(memory, path);
    if (probe == null) {
      return null;
    }
    Mapping mapping = null;
    try {
      long length = probe.file().lengthBytes();
      if (length < ReaderDescriptor.LENGTH) {
        throw ControlDescriptor.corrupt(path.toString(), "too short", "length", length);
      }
      mapping = probe.file().map(ReaderDescriptor.LENGTH, Protection.READ);
      ReaderHeader header = ReaderDescriptor.readHeader(path.toString(), mapping.segment());
      if (!header.id().equals(id)) {
        throw ControlDescriptor.corrupt(
            path.toString(), "the name is another", "reader id", header.id().low());
      }
      return new ReaderFile(path, probe, mapping, header);
    } catch (RuntimeException | InternalError e) {
      if (mapping != null) {
        mapping.close();
      }
      probe.close();
      throw e;
    }
  }

  /** What the rank says of itself. */
  public ReaderHeader header() {
    return header;
  }

  /** The 128 bits of its name. */
  public Id128 id() {
    return header.id();
  }

  /** Whether the rank lives and still has the file mapped. */
  public boolean isLocked() {
    return !cutShort && probe.isLocked();
  }

  /** Which generation it says it reads; null when none yet. */
  public @Nullable Attachment attachment() {
    try {
      return cutShort ? null : ReaderDescriptor.attachmentLoadAcquire(segment);
    } catch (InternalError gone) {
      cutShort = true;
      return null;
    }
  }

  /** The generation that it is expected to attach to; null before {@link #expect}. */
  public @Nullable GenerationHeader generation() {
    return generation;
  }

  /**
   * Says into which generation the rank was put; only what it writes about that one counts.
   *
   * @param named in Welcome
   */
  public void expect(GenerationHeader named) {
    generation = named;
    attached = false;
  }

  @Override
  public boolean isAttached() {
    GenerationHeader expected = generation;
    if (cutShort || expected == null) {
      return false;
    }
    if (!attached) {
      try {
        Attachment attachment = ReaderDescriptor.attachmentLoadAcquire(segment);
        attached = attachment != null && attachment.generationId().equals(expected.generationId());
      } catch (InternalError gone) {
        cutShort = true;
      }
    }
    return attached;
  }

  @Override
  public long taken() {
    if (!isAttached()) {
      return 0;
    }
    try {
      return ReaderDescriptor.takenLoadAcquire(segment);
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
      return ReaderDescriptor.isAckedLoadAcquire(segment, n, expected.descriptorCount());
    } catch (InternalError gone) {
      cutShort = true;
      return false;
    }
  }

  /**
   * Whether it waits, since the last look, for a step that is not there yet. For people.
   *
   * @param publishedCount steps published in order
   */
  public boolean startsToWait(long publishedCount) {
    if (!isAttached()) {
      return false;
    }
    try {
      long waitsFor = ReaderDescriptor.waitingLoadAcquire(segment);
      boolean stalls = waitsFor > publishedCount && waitsFor != lastStall;
      lastStall = stalls ? waitsFor : lastStall;
      return stalls;
    } catch (InternalError gone) {
      cutShort = true;
      return false;
    }
  }

  /** Removes the file, whose rank is gone. */
  public void unlink() {
    try {
      Files.deleteIfExists(path);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Unmaps and closes the probe; the rank's lock is not touched. */
  @Override
  public void close() {
    mapping.close();
    probe.close();
  }
}
