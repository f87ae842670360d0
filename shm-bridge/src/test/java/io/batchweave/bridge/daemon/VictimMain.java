package io.batchweave.bridge.daemon;

import io.aeron.Aeron;
import io.aeron.CncFileDescriptor;
import io.aeron.ExclusivePublication;
import io.aeron.logbuffer.BufferClaim;
import io.batchweave.Bytes;
import io.batchweave.bridge.handshake.HandshakeProtocol;
import io.batchweave.bridge.handshake.Hello;
import java.io.File;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.agrona.IoUtil;
import org.agrona.concurrent.ringbuffer.ManyToOneRingBuffer;

/** A rank in a process of its own that goes so far and no further, to be killed there. */
final class VictimMain {
  /** How far it goes. */
  enum Point {
    /** Its reader file is there and locked; it has said nothing. */
    BORN,
    /** Its Aeron client is connected and subscribed; it has said nothing. */
    CONNECTED,
    /** It has claimed a place in the driver's command ring and not filled it. */
    CLAIMS_COMMAND,
    /** It has claimed a place for its Hello and not filled it. */
    CLAIMS_HELLO,
    /** It is somewhere in the handshake. */
    SOMEWHERE,
    /** It was welcomed and has not attached itself. */
    WELCOMED,
    /** It has read everything and waits. */
    WAITING,
    /** It holds a step. */
    READING,
    /** It has stored the ack of a step and woken nobody. */
    ACKED
  }

  private static final long SOON_NS = TimeUnit.SECONDS.toNanos(60);

  private VictimMain() {}

  /** Arguments: point, directory, stream, next step. */
  public static void main(String[] arguments) {
    Point point = Point.valueOf(arguments[0]);
    Path directory = Path.of(arguments[1]);
    TestRank rank =
        new TestRank(
            new TestRank.Identity(
                directory, arguments[2], "train", "run-0", new Hello.RankShape(1, 2, 0, 1, 2)),
            Long.parseLong(arguments[3]));
    rank.beBorn();
    switch (point) {
      case BORN -> stay("ready");
      case CONNECTED, CLAIMS_COMMAND, CLAIMS_HELLO -> connect(point, directory);
      case SOMEWHERE -> {
        System.out.println("ready");
        rank.sayHello("", Bytes.EMPTY, SOON_NS);
        stay("survived");
      }
      case WELCOMED -> {
        rank.sayHello("", Bytes.EMPTY, SOON_NS);
        stay("ready");
      }
      case WAITING, READING, ACKED -> {
        rank.sayHello("", Bytes.EMPTY, SOON_NS);
        rank.settle();
        read(point, rank);
      }
    }
  }

  private static void read(Point point, TestRank rank) {
    TestRank.Take.Ready first = rank.step(SOON_NS);
    if (point == Point.READING) {
      stay("ready");
    }
    if (point == Point.ACKED) {
      rank.releaseSilently(first.n());
      stay("ready");
    }
    rank.release(first);
    while (rank.take(TimeUnit.MILLISECONDS.toNanos(500)) instanceof TestRank.Take.Ready ready) {
      rank.release(ready);
    }
    System.out.println("ready");
    rank.take(TimeUnit.HOURS.toNanos(1));
  }

  private static void connect(Point point, Path directory) {
    String aeronDirectory = directory.resolve(HandshakeProtocol.AERON_DIRECTORY).toString();
    Aeron aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(aeronDirectory));
    aeron.addSubscription(HandshakeProtocol.CHANNEL, (int) aeron.nextCorrelationId());
    ExclusivePublication hello =
        aeron.addExclusivePublication(HandshakeProtocol.CHANNEL, HandshakeProtocol.HELLO_STREAM_ID);
    if (point == Point.CLAIMS_HELLO) {
      BufferClaim claim = new BufferClaim();
      while (hello.tryClaim(200, claim) < 0) {
        Thread.onSpinWait();
      }
    }
    if (point == Point.CLAIMS_COMMAND) {
      var cnc = IoUtil.mapExistingFile(new File(aeronDirectory, CncFileDescriptor.CNC_FILE), "cnc");
      ManyToOneRingBuffer commands =
          new ManyToOneRingBuffer(
              CncFileDescriptor.createToDriverBuffer(
                  cnc, CncFileDescriptor.createMetaDataBuffer(cnc)));
      commands.tryClaim(1, 64);
    }
    stay("ready");
  }

  private static void stay(String word) {
    System.out.println(word);
    while (true) {
      LockSupport.park();
    }
  }
}
