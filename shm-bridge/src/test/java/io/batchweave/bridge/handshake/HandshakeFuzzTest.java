package io.batchweave.bridge.handshake;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.agrona.ExpandableArrayBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Messages of the handshake, damaged at random: read as something, or CORRUPT, never more. */
class HandshakeFuzzTest {
  /** Of each kind that there is one. */
  private static final int MESSAGES = 7;

  private final HandshakeCodec codec = new HandshakeCodec();
  private int refused;
  private int read;

  private static byte[] encoded(HandshakeCodec codec, int which) {
    ExpandableArrayBuffer buffer = new ExpandableArrayBuffer(4096);
    int length =
        switch (which) {
          case 0 -> codec.encode(HandshakeCodecTest.hello(), buffer);
          case 1 -> codec.encode(5, HandshakeCodecTest.welcome(), buffer);
          case 2 -> codec.encode(5, new Answer.Refused(RefusalCode.RING_HELD, "held"), buffer);
          case 3 -> codec.encode(HandshakeCodecTest.checkpoint(), buffer);
          case 4 -> codec.encode(HandshakeCodecTest.question(), buffer);
          case 5 -> codec.encode(5, new Answer.Registered(17), buffer);
          default -> codec.encode(5, new Answer.Status(1, 2, true, 3, 4), buffer);
        };
    byte[] message = new byte[length];
    buffer.getBytes(0, message);
    return message;
  }

  @Test
  void shouldReadOrRefuseWhateverTheBytesAre() {
    fuzz(20260701, 30_000);
  }

  @Test
  @Tag("full")
  void shouldReadOrRefuseWhateverTheBytesAreForLong() {
    for (int seed = 1; seed <= 5; seed++) {
      fuzz(seed, 200_000);
    }
  }

  private void fuzz(long seed, int rounds) {
    SplittableRandom random = new SplittableRandom(seed);
    byte[][] sound = new byte[MESSAGES][];
    Arrays.setAll(sound, which -> encoded(codec, which));
    for (int round = 0; round < rounds; round++) {
      byte[] message = sound[round % MESSAGES].clone();
      for (int i = random.nextInt(4); i >= 0; i--) {
        message[random.nextInt(message.length)] = (byte) random.nextInt();
      }
      if (random.nextInt(4) == 0) {
        message = Arrays.copyOf(message, random.nextInt(message.length + 8));
      }
      // A buffer of exactly that length: reading past it would throw another exception.
      UnsafeBuffer exact = new UnsafeBuffer(message);
      String where = "seed=" + seed + " round=" + round;
      take(where, () -> codec.decodeRequest(exact, 0, exact.capacity()));
      take(where, () -> codec.decodeAnswer(exact, 0, exact.capacity()));
      var _ = codec.addressOf(exact, 0, exact.capacity());
    }
    assertTrue(refused > rounds && read > rounds / 100, "refused=" + refused + " read=" + read);
  }

  private void take(String where, Runnable decode) {
    try {
      decode.run();
      read++;
    } catch (BatchWeaveException e) {
      assertEquals(Kind.CORRUPT, e.kind(), () -> where + " " + e);
      refused++;
    }
  }
}
