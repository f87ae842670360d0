package io.batchweave.store;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicLong;

/** Takes the bytes of ranges and puts them into the file itself, as a daemon does with its ring. */
public final class TakingStore {
  /** So many were lent. */
  public final AtomicLong lentBytes = new AtomicLong();

  private final ObjectStore inner;

  /**
   * Creates one.
   *
   * @param inner lends the bytes
   */
  public TakingStore(ObjectStore inner) {
    this.inner = inner;
  }

  /** The store; closing it closes the inner one. */
  public ObjectStore store() {
    return (ObjectStore)
        Proxy.newProxyInstance(
            ObjectStore.class.getClassLoader(),
            new Class<?>[] {ObjectStore.class},
            (proxy, method, arguments) -> {
              if (method.getName().equals("getInto")) {
                Path file = (Path) arguments[2];
                long position = (long) arguments[3];
                RangeReceiver outer =
                    arguments.length == 5 ? (RangeReceiver) arguments[4] : RangeReceiver.NOBODY;
                return inner.getInto(
                    (String) arguments[0],
                    (ByteRange) arguments[1],
                    file,
                    position,
                    new Taker(file, position, outer));
              }
              try {
                return method.invoke(inner, arguments);
              } catch (InvocationTargetException thrown) {
                throw thrown.getCause();
              }
            });
  }

  private final class Taker implements RangeReceiver {
    private final Path file;
    private final long position;
    private final RangeReceiver outer;
    private long takenBytes;

    Taker(Path file, long position, RangeReceiver outer) {
      this.file = file;
      this.position = position;
      this.outer = outer;
    }

    @Override
    public void onBegin() {
      takenBytes = 0;
      outer.onBegin();
    }

    @Override
    public boolean takesBytes() {
      return true;
    }

    @Override
    public void onBytes(long offset, ByteBuffer bytes) {
      if (offset != takenBytes || !bytes.isDirect() || !bytes.hasRemaining()) {
        throw new IllegalStateException("offset=" + offset + " taken=" + takenBytes + " " + bytes);
      }
      takenBytes += bytes.remaining();
      lentBytes.addAndGet(bytes.remaining());
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
        for (long at = position + offset; bytes.hasRemaining(); ) {
          at += channel.write(bytes, at);
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      outer.onWritten(takenBytes);
    }

    @Override
    public void onWritten(long writtenBytes) {
      outer.onWritten(writtenBytes);
    }
  }
}
