package io.batchweave.bridge.handshake;

/** Receives what ranks say; called on the server's agent thread. */
@FunctionalInterface
public interface RequestHandler {
  /**
   * A rank said something. Answer by {@link HandshakeServer#answer}, now or in a later duty cycle,
   * within {@link HandshakeProtocol#HOLD_NS}.
   *
   * @param request decoded; its values are the peer's and not yet checked
   */
  void onRequest(Request request);
}
