package io.batchweave.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.ingest.IngestCursor.Consumed;
import io.batchweave.ingest.IngestCursor.Position;
import io.batchweave.ingest.IngestCursor.Settings;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class IngestCursorCodecTest {
  private static final IngestCursor CURSOR =
      new IngestCursor(
          new Settings("text", new Shard(1, 2)),
          List.of(
              new Consumed("/data/ä.jsonl", 300, 0x1122334455667788L),
              new Consumed("/data/b.jsonl", 1L << 40, -1)),
          new Position(1, 1000, 5),
          new IngestTotals(1, 2, 3, 4, 5, 6, 7, 8));

  @Test
  void shouldPinTheBytes() {
    assertEquals(
        "425749430104746578740102010203040506070802000e2f646174612fc3a42e6a736f6e6cac028877665544"
            + "33221106"
            + "07622e6a736f6e6c808080808020ffffffffffffffff02e80705",
        HexFormat.of().formatHex(IngestCursorCodec.encode(CURSOR).toByteArray()));
  }

  @Test
  void shouldReadWhatItWrote() {
    assertEquals(CURSOR, IngestCursorCodec.decode(IngestCursorCodec.encode(CURSOR)));
    IngestCursor empty = IngestCursor.begin(new Settings("", Shard.ALL));
    assertEquals(empty, IngestCursorCodec.decode(IngestCursorCodec.encode(empty)));
  }

  /** Truncations and changed bytes (E8). */
  @Test
  void shouldReportCorruptOrReadExactly() {
    byte[] bytes = IngestCursorCodec.encode(CURSOR).toByteArray();
    for (int length = 5; length < bytes.length; length++) {
      byte[] cut = Arrays.copyOf(bytes, length);
      assertEquals(Kind.CORRUPT, failure(cut).kind());
    }
    assertEquals(Kind.CORRUPT, failure(Arrays.copyOf(bytes, bytes.length + 1)).kind());
    Random random = new Random(1);
    for (int round = 0; round < 20_000; round++) {
      byte[] changed = bytes.clone();
      for (int i = random.nextInt(2); i >= 0; i--) {
        changed[5 + random.nextInt(bytes.length - 5)] = (byte) random.nextInt();
      }
      try {
        IngestCursor cursor = IngestCursorCodec.decode(Bytes.wrap(changed));
        assertEquals(cursor, IngestCursorCodec.decode(IngestCursorCodec.encode(cursor)));
      } catch (BatchWeaveException e) {
        assertEquals(Kind.CORRUPT, e.kind());
        assertTrue(e.toString().contains("offset="), e.toString());
      }
    }
  }

  @Test
  void shouldTellForeignAndNewerStates() {
    assertEquals(Kind.CONFIG, failure(new byte[] {1, 2, 3}).kind());
    assertEquals(Kind.CONFIG, failure("{\"offset\":1}".getBytes(StandardCharsets.UTF_8)).kind());
    byte[] newer = IngestCursorCodec.encode(CURSOR).toByteArray();
    newer[4] = 2;
    assertEquals(Kind.TOO_NEW, failure(newer).kind());
    newer[4] = 0;
    assertEquals(Kind.CORRUPT, failure(newer).kind());
  }

  private static BatchWeaveException failure(byte[] bytes) {
    return assertThrows(
        BatchWeaveException.class, () -> IngestCursorCodec.decode(Bytes.wrap(bytes)));
  }
}
