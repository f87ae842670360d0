package io.batchweave.format;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.batchweave.Bytes;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** What was learned about a store is recorded, pinned by literals, and keeps nobody out. */
class StreamCapabilitiesTest {
  @Test
  void shouldKeepTheBitsWhereTheyAre() {
    assertEquals(0x1_0000_0000L, StreamCapabilities.CREATE_RACE);
    assertEquals(0x2_0000_0000L, StreamCapabilities.UNSOUND_STORE);
    assertEquals(0x4_0000_0000L, StreamCapabilities.CHECKSUMS);
    assertEquals(0x8_0000_0000L, StreamCapabilities.VERSIONING);
    assertEquals(0x10_0000_0000L, StreamCapabilities.LIFECYCLE);
  }

  @Test
  void shouldNameTheBitsThatAreSet() {
    assertEquals(List.of(), StreamCapabilities.names(0));
    assertEquals(
        List.of("create-race", "unsound-store", "checksums", "versioning", "lifecycle-rules"),
        StreamCapabilities.names(-1));
    assertEquals(List.of("versioning"), StreamCapabilities.names(StreamCapabilities.VERSIONING));
  }

  @Test
  void shouldReadAStreamWithBitsThatNobodyKnowsYet() {
    long all = 0xFFFF_FFFF_0000_0000L;
    StreamDescriptor stream = new StreamDescriptor(new UUID(1, 2), Envelope.FORMAT, 4, 2, all);
    assertEquals(stream, StreamCodec.decode("stream", Bytes.wrap(StreamCodec.encode(stream))));
  }
}
