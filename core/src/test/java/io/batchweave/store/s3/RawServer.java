package io.batchweave.store.s3;

import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A TCP endpoint that does with each connection what the test says; HTTP is what it makes of it.
 */
final class RawServer implements AutoCloseable {
  /** What becomes of one connection; it is closed afterwards. */
  interface Talk {
    void with(Connection connection) throws IOException;
  }

  private final ServerSocket server;
  private final Talk talk;
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();
  private final AtomicBoolean closed = new AtomicBoolean();
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

  RawServer(Talk talk) throws IOException {
    this.server = new ServerSocket(0, 200, InetAddress.getLoopbackAddress());
    this.talk = talk;
    var _ = threads.submit(this::acceptAll);
  }

  private void acceptAll() {
    while (!closed.get()) {
      try {
        Socket socket = server.accept();
        open.add(socket);
        if (closed.get()) {
          socket.close();
        }
        var _ = threads.submit(() -> serve(socket));
      } catch (IOException e) {
        // Closed, or the next one.
      }
    }
  }

  private void serve(Socket socket) {
    try (socket) {
      talk.with(new Connection(socket));
    } catch (IOException e) {
      // The client has had enough.
    } finally {
      open.remove(socket);
    }
  }

  /** One connection, as a script sees it. */
  static final class Connection {
    private final Socket socket;

    private Connection(Socket socket) {
      this.socket = socket;
    }

    /** Reads up to the end of a request's head. */
    void readHead() throws IOException {
      InputStream input = socket.getInputStream();
      int ends = 0;
      while (ends < 4) {
        int next = input.read();
        if (next < 0) {
          throw new IOException("closed by the client");
        }
        ends = next == "\r\n\r\n".charAt(ends) ? ends + 1 : next == '\r' ? 1 : 0;
      }
    }

    /** Reads until the client closes. */
    void readOn() throws IOException {
      var _ = socket.getInputStream().transferTo(OutputStream.nullOutputStream());
    }

    void send(String text) throws IOException {
      socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
      socket.getOutputStream().flush();
    }

    /** Closes with a reset, as the kernel does for a process that was killed. */
    void reset() throws IOException {
      socket.setSoLinger(true, 0);
    }
  }

  /** Opens a store on it. */
  ObjectStore open(String settings) {
    String url =
        "s3://bucket/root?endpoint=http://127.0.0.1:"
            + server.getLocalPort()
            + "&region=us-east-1"
            + settings;
    return Stores.open(url, Map.of("AWS_ACCESS_KEY_ID", "AK", "AWS_SECRET_ACCESS_KEY", "SK"));
  }

  /** Nobody listens any more, and all connections are gone. */
  @Override
  public void close() {
    closed.set(true);
    try {
      server.close();
      for (Socket socket : open) {
        socket.close();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    threads.shutdownNow();
    threads.close();
  }
}
