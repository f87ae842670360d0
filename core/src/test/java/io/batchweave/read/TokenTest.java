package io.batchweave.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Limits;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class TokenTest {
  private static final Token TOKEN =
      new Token(UUID.fromString("01234567-89ab-cdef-0123-456789abcdef"), 0x1122, 0x334455);

  private static final String LITERAL =
      "4257544b"
          + "01010000"
          + "0123456789abcdef0123456789abcdef"
          + "2211000000000000"
          + "5544330000000000";

  @Test
  void shouldKeepItsBytes() {
    assertTrue(Token.LENGTH_BYTES <= Limits.TOKEN_BYTES);
    byte[] encoded = TOKEN.encode().toByteArray();
    assertEquals(LITERAL, HexFormat.of().formatHex(encoded, 0, 40));
    assertEquals(44, encoded.length);
    assertEquals(TOKEN, Token.decode(TOKEN.encode()));
  }

  @Test
  void shouldSayCorruptWhenAnyBitIsFlipped() {
    byte[] encoded = TOKEN.encode().toByteArray();
    for (int bit = 0; bit < encoded.length * 8; bit++) {
      byte[] flipped = encoded.clone();
      flipped[bit / 8] ^= (byte) (1 << (bit % 8));
      Kind kind =
          assertThrows(BatchWeaveException.class, () -> Token.decode(Bytes.wrap(flipped))).kind();
      assertTrue(kind == Kind.CORRUPT || (kind == Kind.TOO_NEW && bit / 8 == 5), "bit " + bit);
    }
  }

  @Test
  void shouldSayCorruptWhenTruncatedOrTooLong() {
    byte[] encoded = TOKEN.encode().toByteArray();
    for (int length = 0; length <= encoded.length + 8; length++) {
      if (length != encoded.length) {
        Bytes bytes = Bytes.wrap(Arrays.copyOf(encoded, length));
        assertEquals(
            Kind.CORRUPT,
            assertThrows(BatchWeaveException.class, () -> Token.decode(bytes)).kind());
      }
    }
  }

  @Test
  void shouldRefuseAnotherStream() {
    TOKEN.requireStream(TOKEN.streamId());
    BatchWeaveException e =
        assertThrows(BatchWeaveException.class, () -> TOKEN.requireStream(new UUID(1, 2)));
    assertEquals(Kind.CONFIG, e.kind());
  }
}
