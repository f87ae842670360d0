package io.batchweave.bridge.handshake;

import io.aeron.AeronVersion;
import java.util.concurrent.TimeUnit;

/** Constants that both ends of the handshake share; the C client mirrors them. */
public final class HandshakeProtocol {
  /** Channel of Hello and Welcome. */
  public static final String CHANNEL = "aeron:ipc";

  /** Stream on which every rank says Hello. */
  public static final int HELLO_STREAM_ID = 0x424D_0001;

  /** Length of a message with its SBE header, bytes: one MTU less Aeron's frame header. */
  public static final int MAX_MESSAGE_BYTES = 1408 - 32;

  /** Version of Aeron on both sides. */
  public static final String AERON_VERSION = AeronVersion.VERSION;

  /** Aeron's directory, relative to the daemon directory. */
  public static final String AERON_DIRECTORY = "aeron";

  /** Length of one attempt to attach. */
  public static final long ATTEMPT_NS = TimeUnit.MILLISECONDS.toNanos(1_500);

  /** Longest time the daemon keeps a request before it answers NOT_YET. */
  public static final long HOLD_NS = TimeUnit.MILLISECONDS.toNanos(800);

  /** Longest life of the daemon's publication to one rank. */
  public static final long ANSWER_NS = TimeUnit.SECONDS.toNanos(2);

  /** A rank takes the driver for dead after this time without a heartbeat, milliseconds. */
  public static final long DRIVER_TIMEOUT_MILLIS = 500;

  /** Interval of a rank's heartbeats to the driver. */
  public static final long KEEP_ALIVE_NS = TimeUnit.MILLISECONDS.toNanos(100);

  /** Length of {@code stream}, bytes. */
  public static final int MAX_STREAM_BYTES = 512;

  /** Length of {@code group} and {@code session}, bytes. */
  public static final int MAX_NAME_BYTES = 64;

  /** Length of a file name, bytes. */
  public static final int MAX_FILE_BYTES = 64;

  /** Length of a token, bytes. */
  public static final int MAX_TOKEN_BYTES = 256;

  /** Length of a refusal's text, bytes. */
  public static final int MAX_TEXT_BYTES = 1_024;

  private HandshakeProtocol() {}
}
