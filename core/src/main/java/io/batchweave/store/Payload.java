package io.batchweave.store;

import io.batchweave.Bytes;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of an upload: gathered buffers or a part of a file. Can be read any number of times, by
 * one reader after another, each from the start; the bytes must not change until the upload's
 * future has completed.
 */
public sealed interface Payload {
  /** What is read of a file at a time. */
  int CHUNK_BYTES = 64 << 10;

  /** Number of bytes. */
  long lengthBytes();

  /**
   * Starts reading from the first byte.
   *
   * @throws IOException if the file cannot be opened
   */
  Reader open() throws IOException;

  /**
   * Adds all bytes to a checksum; those in memory are not copied for it.
   *
   * @param checksum updated
   * @throws IOException if the file cannot be read
   */
  default void addTo(CRC32C checksum) throws IOException {
    ByteBuffer chunk = ByteBuffer.allocate(Math.clamp(lengthBytes(), 1, CHUNK_BYTES));
    try (Reader reader = open()) {
      boolean done;
      do {
        done = reader.read(chunk.clear());
        checksum.update(chunk.flip());
      } while (!done);
    }
  }

  /** The same bytes, none of them held back: what a digest is taken of. */
  default Payload unheld() {
    return this;
  }

  /** Reads a payload once, front to back. Not thread-safe. */
  interface Reader extends AutoCloseable {
    /**
     * Copies the next bytes; perhaps none, where a {@link StartingGate} holds them back.
     *
     * @param target takes as many bytes as it has room for and there are
     * @return whether all bytes of the payload have been read
     * @throws IOException if the file cannot be read or is too short
     */
    boolean read(ByteBuffer target) throws IOException;

    @Override
    void close() throws IOException;
  }

  /**
   * The given bytes.
   *
   * @param bytes the bytes
   */
  static Payload of(Bytes bytes) {
    return new Whole(bytes);
  }

  /**
   * The remaining bytes of the buffers, one after another; positions are left alone.
   *
   * @param buffers heap or direct buffers
   */
  static Payload of(List<ByteBuffer> buffers) {
    return new Gather(buffers);
  }

  /**
   * A part of a file.
   *
   * @param file the file
   * @param position its first byte
   * @param lengthBytes number of bytes
   */
  static Payload ofFile(Path file, long position, long lengthBytes) {
    return new FilePart(file, position, lengthBytes);
  }

  /**
   * Payloads one after another.
   *
   * @param parts in order
   */
  static Payload concat(List<Payload> parts) {
    return new Concat(parts);
  }

  /** Bytes in one piece. */
  final class Whole implements Payload {
    private final Bytes bytes;

    private Whole(Bytes bytes) {
      this.bytes = bytes;
    }

    @Override
    public long lengthBytes() {
      return bytes.length();
    }

    @Override
    public Reader open() {
      return new GatherReader(List.of(bytes.asByteBuffer()));
    }

    @Override
    public void addTo(CRC32C checksum) {
      bytes.addTo(checksum);
    }
  }

  /** Gathered buffers. */
  final class Gather implements Payload {
    private final List<ByteBuffer> buffers;
    private final long lengthBytes;

    private Gather(List<ByteBuffer> buffers) {
      this.buffers = buffers.stream().map(ByteBuffer::duplicate).toList();
      this.lengthBytes = this.buffers.stream().mapToLong(ByteBuffer::remaining).sum();
    }

    @Override
    public long lengthBytes() {
      return lengthBytes;
    }

    @Override
    public Reader open() {
      return new GatherReader(buffers);
    }

    @Override
    public void addTo(CRC32C checksum) {
      buffers.forEach(buffer -> checksum.update(buffer.duplicate()));
    }
  }

  /** A part of a file. */
  final class FilePart implements Payload {
    private final Path file;
    private final long position;
    private final long lengthBytes;

    private FilePart(Path file, long position, long lengthBytes) {
      if (position < 0 || lengthBytes < 0) {
        throw new IllegalArgumentException(
            "not a part of a file: position=" + position + " lengthBytes=" + lengthBytes);
      }
      this.file = file;
      this.position = position;
      this.lengthBytes = lengthBytes;
    }

    @Override
    public long lengthBytes() {
      return lengthBytes;
    }

    @Override
    public Reader open() throws IOException {
      return new FileReader(FileChannel.open(file, StandardOpenOption.READ), position, lengthBytes);
    }
  }

  /** Payloads one after another. */
  final class Concat implements Payload {
    private final List<Payload> parts;
    private final long lengthBytes;

    private Concat(List<Payload> parts) {
      this.parts = List.copyOf(parts);
      this.lengthBytes = this.parts.stream().mapToLong(Payload::lengthBytes).sum();
    }

    @Override
    public long lengthBytes() {
      return lengthBytes;
    }

    @Override
    public Reader open() {
      return new ConcatReader(parts);
    }

    @Override
    public void addTo(CRC32C checksum) throws IOException {
      for (Payload part : parts) {
        part.addTo(checksum);
      }
    }
  }

  /** A payload whose last byte waits for a gate; made by {@link StartingGate#hold}. */
  final class Held implements Payload {
    private final Payload body;
    private final StartingGate gate;

    Held(Payload body, StartingGate gate) {
      if (body.lengthBytes() < 2) {
        throw new IllegalArgumentException(
            "too short to be held: lengthBytes=" + body.lengthBytes());
      }
      this.body = body;
      this.gate = gate;
    }

    @Override
    public long lengthBytes() {
      return body.lengthBytes();
    }

    @Override
    public Reader open() throws IOException {
      return new StartingGate.HeldReader(body, gate);
    }

    @Override
    public Payload unheld() {
      return body;
    }
  }

  /** Reads payloads one after another; at most one of them is open at a time. */
  final class ConcatReader implements Reader {
    private final List<Payload> parts;
    private int index;
    private @Nullable Reader current;

    private ConcatReader(List<Payload> parts) {
      this.parts = parts;
    }

    @Override
    public boolean read(ByteBuffer target) throws IOException {
      while (index < parts.size()) {
        if (current == null) {
          current = parts.get(index).open();
        }
        if (!current.read(target)) {
          return false;
        }
        close();
        index++;
      }
      return true;
    }

    @Override
    public void close() throws IOException {
      Reader closing = current;
      current = null;
      if (closing != null) {
        closing.close();
      }
    }
  }

  /** Reads gathered buffers. */
  final class GatherReader implements Reader {
    private final List<ByteBuffer> buffers;
    private int index;

    private GatherReader(List<ByteBuffer> buffers) {
      this.buffers = buffers.stream().map(ByteBuffer::duplicate).toList();
    }

    @Override
    public boolean read(ByteBuffer target) {
      while (index < buffers.size()) {
        ByteBuffer from = buffers.get(index);
        int length = Math.min(from.remaining(), target.remaining());
        target.put(target.position(), from, from.position(), length);
        target.position(target.position() + length);
        from.position(from.position() + length);
        if (from.hasRemaining()) {
          return false;
        }
        index++;
      }
      return true;
    }

    @Override
    public void close() {}
  }

  /** Reads a part of a file. */
  final class FileReader implements Reader {
    private final FileChannel channel;
    private long position;
    private long remaining;

    private FileReader(FileChannel channel, long position, long lengthBytes) {
      this.channel = channel;
      this.position = position;
      this.remaining = lengthBytes;
    }

    @Override
    public boolean read(ByteBuffer target) throws IOException {
      int limit = target.limit();
      if (target.remaining() > remaining) {
        target.limit(target.position() + (int) remaining);
      }
      try {
        while (target.hasRemaining()) {
          int length = channel.read(target, position);
          if (length < 0) {
            throw new IOException("file ended with " + remaining + " bytes still to upload");
          }
          position += length;
          remaining -= length;
        }
      } finally {
        target.limit(limit);
      }
      return remaining == 0;
    }

    @Override
    public void close() throws IOException {
      channel.close();
    }
  }
}
