package io.batchweave.bridge.ring;

import io.batchweave.BatchWeaveException;
import io.batchweave.bridge.memory.LockProbe;
import io.batchweave.bridge.memory.Mapping;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.Protection;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * A rank's reader file in the eyes of the daemon: whether its lock is held, and what the rank
 * wrote. Mapped read-only; nothing in it is believed. Owned by one thread.
 */
public final class ReaderFile implements ReaderView, AutoCloseable {
  private final Path path;
  private final LockProbe probe;
  private final Mapping mapping;
  private final ReaderHeader header;
  private Id128 generationId = Id128.NONE;
  private int descriptorCount = RingAbi.MIN_DESCRIPTORS;
  private boolean attached;

  private ReaderFile(Path path, LockProbe probe, Mapping mapping, ReaderHeader header) {
    this.path = path;
    this.probe = probe;
    this.mapping = mapping;
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

  /** Whether the rank lives and still has the file mapped. */
  public boolean isLocked() {
    return probe.isLocked();
  }

  /**
   * Says into which generation the rank was put; only what it writes about that one counts.
   *
   * @param generation named in Welcome
   */
  public void expect(GenerationHeader generation) {
    generationId = generation.generationId();
    descriptorCount = generation.descriptorCount();
    attached = false;
  }

  @Override
  public boolean isAttached() {
    if (!attached) {
      Attachment attachment = ReaderDescriptor.attachmentLoadAcquire(mapping.segment());
      attached = attachment != null && attachment.generationId().equals(generationId);
    }
    return attached;
  }

  @Override
  public long taken() {
    return isAttached() ? ReaderDescriptor.takenLoadAcquire(mapping.segment()) : 0;
  }

  @Override
  public boolean isAcked(long n) {
    return isAttached()
        && ReaderDescriptor.isAckedLoadAcquire(mapping.segment(), n, descriptorCount);
  }

  /** n + 1 of the step that the rank says it waits for; 0 when it does not. For people. */
  public long waiting() {
    return ReaderDescriptor.waitingLoadAcquire(mapping.segment());
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
