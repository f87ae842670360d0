package io.batchweave.bridge.handshake;

/** Which client said Hello; for messages only. */
public enum ClientKind {
  /** The Java rank client. */
  JAVA,
  /** The header-only C rank client. */
  C,
  /** The Python package. */
  PYTHON
}
