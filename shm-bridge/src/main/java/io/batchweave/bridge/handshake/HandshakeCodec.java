package io.batchweave.bridge.handshake;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.bridge.handshake.sbe.Answered;
import io.batchweave.bridge.handshake.sbe.CheckpointDecoder;
import io.batchweave.bridge.handshake.sbe.CheckpointEncoder;
import io.batchweave.bridge.handshake.sbe.HelloDecoder;
import io.batchweave.bridge.handshake.sbe.HelloEncoder;
import io.batchweave.bridge.handshake.sbe.MessageHeaderDecoder;
import io.batchweave.bridge.handshake.sbe.MessageHeaderEncoder;
import io.batchweave.bridge.handshake.sbe.QuestionDecoder;
import io.batchweave.bridge.handshake.sbe.QuestionEncoder;
import io.batchweave.bridge.handshake.sbe.RefusedDecoder;
import io.batchweave.bridge.handshake.sbe.RefusedEncoder;
import io.batchweave.bridge.handshake.sbe.RegisteredDecoder;
import io.batchweave.bridge.handshake.sbe.RegisteredEncoder;
import io.batchweave.bridge.handshake.sbe.StatusDecoder;
import io.batchweave.bridge.handshake.sbe.StatusEncoder;
import io.batchweave.bridge.handshake.sbe.Takeover;
import io.batchweave.bridge.handshake.sbe.WelcomeDecoder;
import io.batchweave.bridge.handshake.sbe.WelcomeEncoder;
import io.batchweave.format.Block;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.UUID;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Bytes and messages of the handshake. Decoding checks the header, every length and every limit
 * before it reads, and throws {@code CORRUPT} with message and offset. Not thread-safe.
 */
final class HandshakeCodec {
  /** A message with the attempt it belongs to. */
  record Addressed(long attempt, Answer answer) {}

  private static final int HEADER_BYTES = MessageHeaderEncoder.ENCODED_LENGTH;
  private static final int LENGTH_BYTES = Short.BYTES;

  /** In the block of every request; its attempt is at 0. */
  private static final int WELCOME_STREAM_OFFSET = 16;

  private final MessageHeaderEncoder headerEncoder = new MessageHeaderEncoder();
  private final MessageHeaderDecoder headerDecoder = new MessageHeaderDecoder();
  private final HelloEncoder helloEncoder = new HelloEncoder();
  private final HelloDecoder helloDecoder = new HelloDecoder();
  private final WelcomeEncoder welcomeEncoder = new WelcomeEncoder();
  private final WelcomeDecoder welcomeDecoder = new WelcomeDecoder();
  private final RefusedEncoder refusedEncoder = new RefusedEncoder();
  private final RefusedDecoder refusedDecoder = new RefusedDecoder();
  private final CheckpointEncoder checkpointEncoder = new CheckpointEncoder();
  private final CheckpointDecoder checkpointDecoder = new CheckpointDecoder();
  private final RegisteredEncoder registeredEncoder = new RegisteredEncoder();
  private final RegisteredDecoder registeredDecoder = new RegisteredDecoder();
  private final QuestionEncoder questionEncoder = new QuestionEncoder();
  private final QuestionDecoder questionDecoder = new QuestionDecoder();
  private final StatusEncoder statusEncoder = new StatusEncoder();
  private final StatusDecoder statusDecoder = new StatusDecoder();

  /** Writes a request at 0 and returns its length with the header. */
  int encode(Request request, MutableDirectBuffer buffer) {
    return switch (request) {
      case Hello hello -> encodeHello(hello, buffer);
      case Checkpoint checkpoint -> encodeCheckpoint(checkpoint, buffer);
      case Question question -> encodeQuestion(question, buffer);
    };
  }

  private int encodeHello(Hello hello, MutableDirectBuffer buffer) {
    Hello.RankShape shape = hello.shape();
    helloEncoder
        .wrapAndApplyHeader(buffer, 0, headerEncoder)
        .attempt(hello.attempt())
        .nextStep(hello.nextStep())
        .welcomeStreamId(hello.welcomeStreamId())
        .abi(hello.abi())
        .dp(shape.dp())
        .dpSize(shape.dpSize())
        .cp(shape.cp())
        .cpSize(shape.cpSize())
        .localReaders(shape.localReaders())
        .rank(hello.sender().rank())
        .pid(hello.sender().pid())
        .takeover(Takeover.valueOf(hello.takeover().name()))
        .client(
            io.batchweave.bridge.handshake.sbe.ClientKind.valueOf(hello.sender().client().name()))
        .viewVersion(hello.viewVersion());
    byte[] stream = text("stream", hello.stream(), HandshakeProtocol.MAX_STREAM_BYTES);
    byte[] group = text("group", hello.group(), HandshakeProtocol.MAX_NAME_BYTES);
    byte[] session = text("session", hello.session(), HandshakeProtocol.MAX_NAME_BYTES);
    byte[] file = text("readerFile", hello.readerFile(), HandshakeProtocol.MAX_FILE_BYTES);
    byte[] previous =
        text("previousReaderFile", hello.previousReaderFile(), HandshakeProtocol.MAX_FILE_BYTES);
    byte[] token = hello.token().toByteArray();
    checkLimit("token", token.length, HandshakeProtocol.MAX_TOKEN_BYTES);
    helloEncoder
        .putStream(stream, 0, stream.length)
        .putGroup(group, 0, group.length)
        .putSession(session, 0, session.length)
        .putReaderFile(file, 0, file.length)
        .putPreviousReaderFile(previous, 0, previous.length)
        .putToken(token, 0, token.length);
    return HEADER_BYTES + helloEncoder.encodedLength();
  }

  private int encodeCheckpoint(Checkpoint checkpoint, MutableDirectBuffer buffer) {
    byte[] stream = text("stream", checkpoint.stream(), HandshakeProtocol.MAX_STREAM_BYTES);
    byte[] group = text("group", checkpoint.group(), HandshakeProtocol.MAX_NAME_BYTES);
    byte[] session = text("session", checkpoint.session(), HandshakeProtocol.MAX_NAME_BYTES);
    byte[] id = text("id", checkpoint.id(), HandshakeProtocol.MAX_NAME_BYTES);
    checkpointEncoder
        .wrapAndApplyHeader(buffer, 0, headerEncoder)
        .attempt(checkpoint.attempt())
        .step(checkpoint.step())
        .welcomeStreamId(checkpoint.welcomeStreamId())
        .abi(checkpoint.abi())
        .viewVersion(checkpoint.viewVersion())
        .keep(checkpoint.keep())
        .putStream(stream, 0, stream.length)
        .putGroup(group, 0, group.length)
        .putSession(session, 0, session.length)
        .putCheckpointId(id, 0, id.length);
    return HEADER_BYTES + checkpointEncoder.encodedLength();
  }

  private int encodeQuestion(Question question, MutableDirectBuffer buffer) {
    byte[] stream = text("stream", question.stream(), HandshakeProtocol.MAX_STREAM_BYTES);
    byte[] group = text("group", question.group(), HandshakeProtocol.MAX_NAME_BYTES);
    byte[] session = text("session", question.session(), HandshakeProtocol.MAX_NAME_BYTES);
    questionEncoder
        .wrapAndApplyHeader(buffer, 0, headerEncoder)
        .attempt(question.attempt())
        .viewVersion(question.viewVersion())
        .welcomeStreamId(question.welcomeStreamId())
        .abi(question.abi())
        .putStream(stream, 0, stream.length)
        .putGroup(group, 0, group.length)
        .putSession(session, 0, session.length);
    return HEADER_BYTES + questionEncoder.encodedLength();
  }

  /** Writes an answer at 0 and returns its length with the header. */
  int encode(long attempt, Answer answer, MutableDirectBuffer buffer) {
    return switch (answer) {
      case Answer.Welcome welcome -> encodeWelcome(attempt, welcome, buffer);
      case Answer.Refused refused -> encodeRefused(attempt, refused, buffer);
      case Answer.Registered registered -> {
        registeredEncoder
            .wrapAndApplyHeader(buffer, 0, headerEncoder)
            .attempt(attempt)
            .version(registered.version());
        yield HEADER_BYTES + registeredEncoder.encodedLength();
      }
      case Answer.Status status -> {
        statusEncoder
            .wrapAndApplyHeader(buffer, 0, headerEncoder)
            .attempt(attempt)
            .nextStep(status.nextStep())
            .horizon(status.horizon())
            .startStep(status.startStep())
            .sessionSteps(status.sessionSteps())
            .isSealed(status.sealed() ? Answered.YES : Answered.NO);
        yield HEADER_BYTES + statusEncoder.encodedLength();
      }
    };
  }

  private int encodeWelcome(long attempt, Answer.Welcome welcome, MutableDirectBuffer buffer) {
    Answer.Geometry geometry = welcome.geometry();
    Answer.Start start = welcome.start();
    welcomeEncoder
        .wrapAndApplyHeader(buffer, 0, headerEncoder)
        .attempt(attempt)
        .generationHigh(welcome.generation().getMostSignificantBits())
        .generationLow(welcome.generation().getLeastSignificantBits())
        .firstStep(start.step())
        .firstIndex(start.index())
        .controlSizeBytes(welcome.controlSizeBytes())
        .dataSizeBytes(welcome.dataSizeBytes())
        .streamIdHigh(start.streamId().getMostSignificantBits())
        .streamIdLow(start.streamId().getLeastSignificantBits())
        .viewVersion(start.viewVersion())
        .abi(geometry.abi())
        .ring(welcome.ring())
        .slots(geometry.slots())
        .pageSizeBytes(geometry.pageSizeBytes())
        .hold(geometry.hold())
        .gridDp(geometry.gridDp())
        .gridCp(geometry.gridCp());
    byte[] control = text("controlFile", welcome.controlFile(), HandshakeProtocol.MAX_FILE_BYTES);
    byte[] data = text("dataFile", welcome.dataFile(), HandshakeProtocol.MAX_FILE_BYTES);
    welcomeEncoder.putControlFile(control, 0, control.length).putDataFile(data, 0, data.length);
    return HEADER_BYTES + welcomeEncoder.encodedLength();
  }

  private int encodeRefused(long attempt, Answer.Refused refused, MutableDirectBuffer buffer) {
    refusedEncoder
        .wrapAndApplyHeader(buffer, 0, headerEncoder)
        .attempt(attempt)
        .step(refused.step())
        .bytes(refused.bytes())
        .retryAfterMillis(refused.retryAfterMillis())
        .code(io.batchweave.bridge.handshake.sbe.RefusalCode.valueOf(refused.code().name()));
    byte[] text = cut(refused.text());
    refusedEncoder.putText(text, 0, text.length);
    return HEADER_BYTES + refusedEncoder.encodedLength();
  }

  /** Reads a request. */
  Request decodeRequest(DirectBuffer buffer, int offset, int length) {
    checkHeader("Request", buffer, offset, length, 0);
    return switch (headerDecoder.templateId()) {
      case HelloDecoder.TEMPLATE_ID -> decodeHello(buffer, offset, length);
      case CheckpointDecoder.TEMPLATE_ID -> decodeCheckpoint(buffer, offset, length);
      case QuestionDecoder.TEMPLATE_ID -> decodeQuestion(buffer, offset, length);
      default ->
          throw corrupt(
              "Request",
              offset,
              "unknown message template=" + headerDecoder.templateId() + "; install one version");
    };
  }

  private Checkpoint decodeCheckpoint(DirectBuffer buffer, int offset, int length) {
    int blockLength = checkBlock("Checkpoint", offset, length, CheckpointDecoder.BLOCK_LENGTH);
    CheckpointDecoder in =
        checkpointDecoder.wrap(buffer, offset + HEADER_BYTES, blockLength, headerDecoder.version());
    Fields fields =
        new Fields("Checkpoint", buffer, offset + HEADER_BYTES + blockLength, offset, length);
    Checkpoint checkpoint =
        new Checkpoint(
            in.attempt(),
            in.welcomeStreamId(),
            in.abi(),
            fields.text("stream", HandshakeProtocol.MAX_STREAM_BYTES),
            fields.text("group", HandshakeProtocol.MAX_NAME_BYTES),
            fields.text("session", HandshakeProtocol.MAX_NAME_BYTES),
            in.viewVersion(),
            fields.text("checkpointId", HandshakeProtocol.MAX_NAME_BYTES),
            in.step(),
            in.keep());
    fields.end();
    return checkpoint;
  }

  private Question decodeQuestion(DirectBuffer buffer, int offset, int length) {
    int blockLength = checkBlock("Question", offset, length, QuestionDecoder.BLOCK_LENGTH);
    QuestionDecoder in =
        questionDecoder.wrap(buffer, offset + HEADER_BYTES, blockLength, headerDecoder.version());
    Fields fields =
        new Fields("Question", buffer, offset + HEADER_BYTES + blockLength, offset, length);
    Question question =
        new Question(
            in.attempt(),
            in.welcomeStreamId(),
            in.abi(),
            fields.text("stream", HandshakeProtocol.MAX_STREAM_BYTES),
            fields.text("group", HandshakeProtocol.MAX_NAME_BYTES),
            fields.text("session", HandshakeProtocol.MAX_NAME_BYTES),
            in.viewVersion());
    fields.end();
    return question;
  }

  /** Reads a Hello. */
  Hello decodeHello(DirectBuffer buffer, int offset, int length) {
    checkHeader("Hello", buffer, offset, length, HelloDecoder.TEMPLATE_ID);
    int blockLength = checkBlock("Hello", offset, length, HelloDecoder.BLOCK_LENGTH);
    helloDecoder.wrap(buffer, offset + HEADER_BYTES, blockLength, headerDecoder.version());
    checkEnum("Hello.takeover", helloDecoder.takeoverRaw(), Takeover.REFUSE.value());
    checkEnum(
        "Hello.client",
        helloDecoder.clientRaw(),
        io.batchweave.bridge.handshake.sbe.ClientKind.PYTHON.value());
    Fields fields =
        new Fields("Hello", buffer, offset + HEADER_BYTES + blockLength, offset, length);
    Hello hello =
        new Hello(
            helloDecoder.attempt(),
            helloDecoder.welcomeStreamId(),
            helloDecoder.abi(),
            fields.text("stream", HandshakeProtocol.MAX_STREAM_BYTES),
            fields.text("group", HandshakeProtocol.MAX_NAME_BYTES),
            fields.text("session", HandshakeProtocol.MAX_NAME_BYTES),
            new Hello.RankShape(
                helloDecoder.dp(),
                helloDecoder.dpSize(),
                helloDecoder.cp(),
                helloDecoder.cpSize(),
                helloDecoder.localReaders()),
            helloDecoder.nextStep(),
            helloDecoder.viewVersion(),
            Block.Takeover.valueOf(helloDecoder.takeover().name()),
            new Hello.Sender(
                helloDecoder.rank(),
                helloDecoder.pid(),
                ClientKind.valueOf(helloDecoder.client().name())),
            fields.text("readerFile", HandshakeProtocol.MAX_FILE_BYTES),
            fields.text("previousReaderFile", HandshakeProtocol.MAX_FILE_BYTES),
            fields.bytes("token", HandshakeProtocol.MAX_TOKEN_BYTES));
    fields.end();
    return hello;
  }

  /**
   * A request with nothing but the address to which it may be refused, from one that cannot be
   * read; null when not even that can be read.
   */
  @Nullable Request addressOf(DirectBuffer buffer, int offset, int length) {
    if (length < HEADER_BYTES + WELCOME_STREAM_OFFSET + Integer.BYTES) {
      return null;
    }
    headerDecoder.wrap(buffer, offset);
    int template = headerDecoder.templateId();
    if (headerDecoder.schemaId() != MessageHeaderDecoder.SCHEMA_ID
        || (template != HelloDecoder.TEMPLATE_ID
            && template != CheckpointDecoder.TEMPLATE_ID
            && template != QuestionDecoder.TEMPLATE_ID)) {
      return null;
    }
    int block = offset + HEADER_BYTES;
    return new Question(
        buffer.getLong(block, ByteOrder.LITTLE_ENDIAN),
        buffer.getInt(block + WELCOME_STREAM_OFFSET, ByteOrder.LITTLE_ENDIAN),
        0,
        "",
        "",
        "",
        0);
  }

  /** Reads an answer. */
  Addressed decodeAnswer(DirectBuffer buffer, int offset, int length) {
    checkHeader("Answer", buffer, offset, length, 0);
    return switch (headerDecoder.templateId()) {
      case WelcomeDecoder.TEMPLATE_ID -> decodeWelcome(buffer, offset, length);
      case RefusedDecoder.TEMPLATE_ID -> decodeRefused(buffer, offset, length);
      case RegisteredDecoder.TEMPLATE_ID -> decodeRegistered(buffer, offset, length);
      case StatusDecoder.TEMPLATE_ID -> decodeStatus(buffer, offset, length);
      default ->
          throw corrupt(
              "Answer",
              offset,
              "unknown message template=" + headerDecoder.templateId() + "; install one version");
    };
  }

  private Addressed decodeWelcome(DirectBuffer buffer, int offset, int length) {
    int blockLength = checkBlock("Welcome", offset, length, WelcomeDecoder.BLOCK_LENGTH);
    WelcomeDecoder in =
        welcomeDecoder.wrap(buffer, offset + HEADER_BYTES, blockLength, headerDecoder.version());
    Fields fields =
        new Fields("Welcome", buffer, offset + HEADER_BYTES + blockLength, offset, length);
    Answer.Welcome welcome =
        new Answer.Welcome(
            in.ring(),
            new UUID(in.generationHigh(), in.generationLow()),
            fields.text("controlFile", HandshakeProtocol.MAX_FILE_BYTES),
            in.controlSizeBytes(),
            fields.text("dataFile", HandshakeProtocol.MAX_FILE_BYTES),
            in.dataSizeBytes(),
            new Answer.Geometry(
                in.abi(), in.slots(), in.pageSizeBytes(), in.hold(), in.gridDp(), in.gridCp()),
            new Answer.Start(
                new UUID(in.streamIdHigh(), in.streamIdLow()),
                in.viewVersion(),
                in.firstStep(),
                in.firstIndex()));
    fields.end();
    return new Addressed(in.attempt(), welcome);
  }

  private Addressed decodeRegistered(DirectBuffer buffer, int offset, int length) {
    int blockLength = checkBlock("Registered", offset, length, RegisteredDecoder.BLOCK_LENGTH);
    RegisteredDecoder in =
        registeredDecoder.wrap(buffer, offset + HEADER_BYTES, blockLength, headerDecoder.version());
    return new Addressed(in.attempt(), new Answer.Registered(in.version()));
  }

  private Addressed decodeStatus(DirectBuffer buffer, int offset, int length) {
    int blockLength = checkBlock("Status", offset, length, StatusDecoder.BLOCK_LENGTH);
    StatusDecoder in =
        statusDecoder.wrap(buffer, offset + HEADER_BYTES, blockLength, headerDecoder.version());
    checkEnum("Status.isSealed", in.isSealedRaw(), Answered.YES.value());
    return new Addressed(
        in.attempt(),
        new Answer.Status(
            in.nextStep(),
            in.horizon(),
            in.isSealed() == Answered.YES,
            in.startStep(),
            in.sessionSteps()));
  }

  private Addressed decodeRefused(DirectBuffer buffer, int offset, int length) {
    int blockLength = checkBlock("Refused", offset, length, RefusedDecoder.BLOCK_LENGTH);
    RefusedDecoder in =
        refusedDecoder.wrap(buffer, offset + HEADER_BYTES, blockLength, headerDecoder.version());
    checkEnum(
        "Refused.code",
        in.codeRaw(),
        io.batchweave.bridge.handshake.sbe.RefusalCode.CHECKPOINT.value());
    Fields fields =
        new Fields("Refused", buffer, offset + HEADER_BYTES + blockLength, offset, length);
    Answer.Refused refused =
        new Answer.Refused(
            RefusalCode.valueOf(in.code().name()),
            fields.text("text", HandshakeProtocol.MAX_TEXT_BYTES),
            in.step(),
            in.bytes(),
            in.retryAfterMillis());
    fields.end();
    return new Addressed(in.attempt(), refused);
  }

  private void checkHeader(
      String message, DirectBuffer buffer, int offset, int length, int templateId) {
    if (length < HEADER_BYTES || length > HandshakeProtocol.MAX_MESSAGE_BYTES) {
      throw corrupt(message, offset, "length=" + length + " is no message's");
    }
    headerDecoder.wrap(buffer, offset);
    if (headerDecoder.schemaId() != MessageHeaderDecoder.SCHEMA_ID
        || (templateId != 0 && headerDecoder.templateId() != templateId)) {
      throw corrupt(
          message,
          offset,
          "schema=" + headerDecoder.schemaId() + " template=" + headerDecoder.templateId());
    }
  }

  private int checkBlock(String message, int offset, int length, int minBlockLength) {
    int blockLength = headerDecoder.blockLength();
    if (blockLength < minBlockLength || blockLength > length - HEADER_BYTES) {
      throw corrupt(
          message, offset, "blockLength=" + blockLength + " length=" + length + " do not fit");
    }
    return blockLength;
  }

  private static void checkEnum(String field, int value, int max) {
    if (value < 0 || value > max) {
      throw corrupt(field, 0, "value=" + value + " is unknown; max=" + max);
    }
  }

  private static byte[] text(String field, String value, int limitBytes) {
    byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
    checkLimit(field, bytes.length, limitBytes);
    return bytes;
  }

  private static void checkLimit(String field, int length, int limitBytes) {
    if (length > limitBytes) {
      throw new BatchWeaveException(
          Kind.LIMIT,
          field + " is too long for the handshake: length=" + length + " limit=" + limitBytes);
    }
  }

  /** The text's UTF-8, cut between characters at the limit. */
  private static byte[] cut(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    if (bytes.length <= HandshakeProtocol.MAX_TEXT_BYTES) {
      return bytes;
    }
    int end = HandshakeProtocol.MAX_TEXT_BYTES;
    while ((bytes[end] & 0xC0) == 0x80) {
      end--;
    }
    return Arrays.copyOf(bytes, end);
  }

  private static BatchWeaveException corrupt(String name, int offset, String what) {
    return new BatchWeaveException(
        Kind.CORRUPT, "handshake message " + name + " offset=" + offset + ": " + what);
  }

  /** The variable fields of one message, read in order. */
  private static final class Fields {
    private final String message;
    private final DirectBuffer buffer;
    private final int start;
    private final int end;
    private int position;

    Fields(String message, DirectBuffer buffer, int position, int start, int length) {
      this.message = message;
      this.buffer = buffer;
      this.position = position;
      this.start = start;
      this.end = start + length;
    }

    Bytes bytes(String field, int limitBytes) {
      if (end - position < LENGTH_BYTES) {
        throw corrupt(message + "." + field, position - start, "the message ends before it");
      }
      int length = buffer.getShort(position, ByteOrder.LITTLE_ENDIAN) & 0xFFFF;
      if (length > limitBytes || length > end - position - LENGTH_BYTES) {
        throw corrupt(
            message + "." + field,
            position - start,
            "length=" + length + " limit=" + limitBytes + " left=" + (end - position));
      }
      byte[] value = new byte[length];
      buffer.getBytes(position + LENGTH_BYTES, value);
      position += LENGTH_BYTES + length;
      return Bytes.wrap(value);
    }

    String text(String field, int limitBytes) {
      int at = position - start;
      ByteBuffer value = bytes(field, limitBytes).asByteBuffer();
      try {
        return StandardCharsets.UTF_8.newDecoder().decode(value).toString();
      } catch (CharacterCodingException notText) {
        throw corrupt(message + "." + field, at, "is not UTF-8");
      }
    }

    void end() {
      if (position > end) {
        throw corrupt(message, position - start, "reads past its end");
      }
    }
  }
}
