package io.batchweave.bridge.handshake;

/** Receives what ranks say; called on the server's agent thread. */
@FunctionalInterface
public interface HelloHandler {
  /**
   * A rank said Hello. Answer by {@link HandshakeServer#answer}, now or in a later duty cycle,
   * within {@link HandshakeProtocol#HOLD_HELLO_NS}.
   *
   * @param hello decoded; its values are the peer's and not yet checked
   */
  void onHello(Hello hello);
}
