package io.batchweave.bridge.handshake;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Block;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.agrona.ExpandableArrayBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

class HandshakeCodecTest {
  private static final int HEADER_BYTES = 8;
  private static final int TAKEOVER_OFFSET = HEADER_BYTES + 52;
  private static final int CLIENT_OFFSET = HEADER_BYTES + 53;
  private static final int STREAM_OFFSET = HEADER_BYTES + 62;
  private static final int CODE_OFFSET = HEADER_BYTES + 28;

  private final HandshakeCodec codec = new HandshakeCodec();
  private final ExpandableArrayBuffer buffer = new ExpandableArrayBuffer();

  static Hello hello() {
    return new Hello(
        7,
        8,
        1,
        "s3://bucket/corpus",
        "train",
        "run-1-0",
        new Hello.RankShape(3, 8, 1, 2, 4),
        41,
        17,
        Block.Takeover.REFUSE,
        new Hello.Sender(12, 4711, ClientKind.PYTHON),
        "0123456789abcdef0123456789abcdef.reader",
        "",
        Bytes.copyOf(new byte[] {1, 2, 3}));
  }

  static Answer.Welcome welcome() {
    return new Answer.Welcome(
        2,
        new UUID(1, 2),
        "ring-2.9.ctl",
        5_120,
        "ring-2.data",
        1L << 40,
        new Answer.Geometry(1, 8, 4_096, 1, 8, 2),
        new Answer.Start(new UUID(3, 4), 17, 41, 5));
  }

  @Test
  void shouldReadTheHelloThatWasWritten() {
    int length = codec.encode(hello(), buffer);

    assertEquals(hello(), codec.decodeHello(buffer, 0, length));
  }

  static Checkpoint checkpoint() {
    return new Checkpoint(7, 8, 1, "s3://bucket/corpus", "train", "run-1-0", 17, "step-41", 41, 3);
  }

  static Question question() {
    return new Question(7, 8, 1, "s3://bucket/corpus", "train", "run-1-0", 17);
  }

  @Test
  void shouldReadEveryRequestThatWasWrittenAndNoneThatEndsEarly() {
    for (Request request : List.of(hello(), checkpoint(), question())) {
      int length = codec.encode(request, buffer);
      assertEquals(request, codec.decodeRequest(buffer, 0, length));
      byte[] whole = new byte[length];
      buffer.getBytes(0, whole);
      for (int cut = 0; cut < length; cut++) {
        UnsafeBuffer shorter = new UnsafeBuffer(Arrays.copyOf(whole, cut));
        assertCorrupt(() -> codec.decodeRequest(shorter, 0, shorter.capacity()));
        Request sender = codec.addressOf(shorter, 0, shorter.capacity());
        assertEquals(cut >= HEADER_BYTES + 20, sender != null);
      }
    }
  }

  @Test
  void shouldReadTheAnswerThatWasWritten() {
    for (Answer answer : List.of(new Answer.Registered(9), new Answer.Status(1, 2, true, 3, 4))) {
      int answered = codec.encode(5, answer, buffer);
      assertEquals(
          new HandshakeCodec.Addressed(5, answer), codec.decodeAnswer(buffer, 0, answered));
    }
    int length = codec.encode(5, welcome(), buffer);
    assertEquals(new HandshakeCodec.Addressed(5, welcome()), codec.decodeAnswer(buffer, 0, length));
    for (RefusalCode code : RefusalCode.values()) {
      Answer refused = new Answer.Refused(code, "ß held", 3, 4, 250);
      int refusedLength = codec.encode(6, refused, buffer);
      assertEquals(
          new HandshakeCodec.Addressed(6, refused), codec.decodeAnswer(buffer, 0, refusedLength));
    }
  }

  @Test
  void shouldFitOneFragmentWhenEveryFieldIsAtItsLimit() {
    Hello longest =
        new Hello(
            Long.MIN_VALUE,
            Integer.MIN_VALUE,
            1,
            "s".repeat(HandshakeProtocol.MAX_STREAM_BYTES),
            "g".repeat(HandshakeProtocol.MAX_NAME_BYTES),
            "n".repeat(HandshakeProtocol.MAX_NAME_BYTES),
            hello().shape(),
            Hello.NO_STEP,
            Long.MAX_VALUE,
            Block.Takeover.SUPERSEDE,
            hello().sender(),
            "r".repeat(HandshakeProtocol.MAX_FILE_BYTES),
            "p".repeat(HandshakeProtocol.MAX_FILE_BYTES),
            Bytes.wrap(new byte[HandshakeProtocol.MAX_TOKEN_BYTES]));
    int length = codec.encode(longest, buffer);
    assertTrue(length <= HandshakeProtocol.MAX_MESSAGE_BYTES, "length=" + length);
    assertEquals(longest, codec.decodeHello(buffer, 0, length));
    int refused =
        codec.encode(1, new Answer.Refused(RefusalCode.CLOSING, "é".repeat(2_000)), buffer);
    assertTrue(refused <= HandshakeProtocol.MAX_MESSAGE_BYTES, "length=" + refused);
    Answer.Refused cut = (Answer.Refused) codec.decodeAnswer(buffer, 0, refused).answer();
    assertEquals("é".repeat(HandshakeProtocol.MAX_TEXT_BYTES / 2), cut.text());
  }

  @Test
  void shouldRefuseToWriteWhatIsTooLong() {
    Hello hello = hello();
    Hello tooLong =
        new Hello(
            1,
            1,
            1,
            "s".repeat(HandshakeProtocol.MAX_STREAM_BYTES + 1),
            "g",
            "s",
            hello.shape(),
            0,
            0,
            hello.takeover(),
            hello.sender(),
            "",
            "",
            Bytes.EMPTY);

    BatchWeaveException refused =
        assertThrows(BatchWeaveException.class, () -> codec.encode(tooLong, buffer));
    assertEquals(Kind.LIMIT, refused.kind());
  }

  @Test
  void shouldRefuseEveryHelloThatEndsEarly() {
    int length = codec.encode(hello(), buffer);
    byte[] whole = new byte[length];
    buffer.getBytes(0, whole);
    for (int cut = 0; cut < length; cut++) {
      // A buffer of exactly that length: reading past the message would throw another exception.
      UnsafeBuffer shorter = new UnsafeBuffer(Arrays.copyOf(whole, cut));
      assertCorrupt(() -> codec.decodeHello(shorter, 0, shorter.capacity()));
    }
  }

  @Test
  void shouldRefuseEveryAnswerThatEndsEarly() {
    for (Answer answer : new Answer[] {welcome(), new Answer.Refused(RefusalCode.NO_RING, "x")}) {
      int length = codec.encode(1, answer, buffer);
      byte[] whole = new byte[length];
      buffer.getBytes(0, whole);
      for (int cut = 0; cut < length; cut++) {
        UnsafeBuffer shorter = new UnsafeBuffer(Arrays.copyOf(whole, cut));
        assertCorrupt(() -> codec.decodeAnswer(shorter, 0, shorter.capacity()));
      }
    }
  }

  @Test
  void shouldRefuseAnotherSchemaOrMessage() {
    int length = codec.encode(hello(), buffer);
    buffer.putShort(2, (short) 2, ByteOrder.LITTLE_ENDIAN);
    assertCorrupt(() -> codec.decodeHello(buffer, 0, length));
    assertNull(codec.addressOf(buffer, 0, length));
    int again = codec.encode(hello(), buffer);
    buffer.putShort(4, (short) 1, ByteOrder.LITTLE_ENDIAN);
    assertCorrupt(() -> codec.decodeHello(buffer, 0, again));
    int answer = codec.encode(hello(), buffer);
    assertCorrupt(() -> codec.decodeAnswer(buffer, 0, answer));
  }

  @Test
  void shouldRefuseABlockThatIsTooShortOrPastTheEnd() {
    int length = codec.encode(hello(), buffer);
    buffer.putShort(0, (short) 53, ByteOrder.LITTLE_ENDIAN);
    assertCorrupt(() -> codec.decodeHello(buffer, 0, length));
    buffer.putShort(0, (short) 65_535, ByteOrder.LITTLE_ENDIAN);
    assertCorrupt(() -> codec.decodeHello(buffer, 0, length));
  }

  @Test
  void shouldRefuseUnknownEnumValuesAndLongFields() {
    int length = codec.encode(hello(), buffer);
    buffer.putByte(TAKEOVER_OFFSET, (byte) 2);
    assertCorrupt(() -> codec.decodeHello(buffer, 0, length));
    codec.encode(hello(), buffer);
    buffer.putByte(CLIENT_OFFSET, (byte) 255);
    assertCorrupt(() -> codec.decodeHello(buffer, 0, length));
    codec.encode(hello(), buffer);
    buffer.putShort(STREAM_OFFSET, (short) 513, ByteOrder.LITTLE_ENDIAN);
    assertCorrupt(() -> codec.decodeHello(buffer, 0, length));
    int refused = codec.encode(1, new Answer.Refused(RefusalCode.NO_RING, "x"), buffer);
    buffer.putByte(CODE_OFFSET, (byte) 99);
    assertCorrupt(() -> codec.decodeAnswer(buffer, 0, refused));
  }

  @Test
  void shouldRefuseTextThatIsNotUtf8AndKeepTheAddress() {
    int length = codec.encode(hello(), buffer);
    buffer.putByte(STREAM_OFFSET + 2, (byte) 0xFF);

    assertCorrupt(() -> codec.decodeHello(buffer, 0, length));
    Request sender = codec.addressOf(buffer, 0, length);
    assertEquals(7, sender == null ? -1 : sender.attempt());
    assertEquals(8, sender == null ? -1 : sender.welcomeStreamId());
  }

  private static void assertCorrupt(Runnable decode) {
    BatchWeaveException thrown = assertThrows(BatchWeaveException.class, decode::run);
    assertEquals(Kind.CORRUPT, thrown.kind(), thrown.getMessage());
  }
}
