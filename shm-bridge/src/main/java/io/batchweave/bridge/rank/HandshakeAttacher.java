package io.batchweave.bridge.rank;

import io.batchweave.BatchWeaveException;
import io.batchweave.Bytes;
import io.batchweave.bridge.handshake.Answer;
import io.batchweave.bridge.handshake.ClientKind;
import io.batchweave.bridge.handshake.HandshakeClient;
import io.batchweave.bridge.handshake.Hello;
import io.batchweave.bridge.ring.Id128;
import io.batchweave.bridge.ring.RingAbi;
import io.batchweave.format.Block;
import java.nio.file.Path;
import java.util.UUID;
import org.agrona.concurrent.NanoClock;

/** Says Hello over Aeron; the Aeron client lives only as long as the exchange. */
public final class HandshakeAttacher implements Attacher {
  private final HandshakeClient client;
  private final Block.Takeover takeover;
  private final Bytes token;

  /**
   * Creates one.
   *
   * @param directory the daemon directory
   * @param clock the client's clock
   * @param takeover what this session does to a live one of its group
   * @param token the resume token; empty when there is none
   */
  public HandshakeAttacher(Path directory, NanoClock clock, Block.Takeover takeover, Bytes token) {
    this.client = new HandshakeClient(directory, clock);
    this.takeover = takeover;
    this.token = token;
  }

  @Override
  public Attached attach(Request request, long deadlineNs) {
    RankIdentity identity = request.identity();
    Hello hello =
        new Hello(
            0,
            0,
            RingAbi.VERSION,
            identity.stream(),
            identity.group(),
            identity.session(),
            new Hello.RankShape(
                identity.coordinate().dp(),
                identity.dpSize(),
                identity.coordinate().cp(),
                identity.cpSize(),
                identity.localReaders()),
            request.nextStep(),
            takeover,
            new Hello.Sender(identity.rank(), (int) ProcessHandle.current().pid(), ClientKind.JAVA),
            RingAbi.readerName(request.reader()),
            request.previous().equals(Id128.NONE) ? "" : RingAbi.readerName(request.previous()),
            token);
    return switch (client.attach(hello, deadlineNs)) {
      case Answer.Welcome welcome ->
          new Attached(
              welcome.controlFile(),
              welcome.dataFile(),
              id(welcome.generation()),
              welcome.start().index(),
              welcome.start().step(),
              id(welcome.start().streamId()),
              welcome.start().viewVersion());
      case Answer.Refused refused ->
          throw new BatchWeaveException(
              refused.code().kind(),
              "the daemon refused this rank: code=" + refused.code() + " " + refused.text());
    };
  }

  private static Id128 id(UUID uuid) {
    return new Id128(uuid.getMostSignificantBits(), uuid.getLeastSignificantBits());
  }

  @Override
  public boolean isResponding() {
    return client.isDaemonRunning();
  }

  /** Holds nothing between attachments. */
  @Override
  public void close() {}
}
