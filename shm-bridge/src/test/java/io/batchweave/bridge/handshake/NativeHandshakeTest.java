package io.batchweave.bridge.handshake;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.bridge.NativeProgram;
import io.batchweave.bridge.NativeProgram.Build;
import io.batchweave.bridge.handshake.sbe.ClientKind;
import io.batchweave.bridge.handshake.sbe.HelloDecoder;
import io.batchweave.bridge.handshake.sbe.HelloEncoder;
import io.batchweave.bridge.handshake.sbe.MessageHeaderDecoder;
import io.batchweave.bridge.handshake.sbe.MessageHeaderEncoder;
import io.batchweave.bridge.handshake.sbe.RefusalCode;
import io.batchweave.bridge.handshake.sbe.RefusedEncoder;
import io.batchweave.bridge.handshake.sbe.Takeover;
import io.batchweave.bridge.handshake.sbe.WelcomeEncoder;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.xml.sax.SAXException;

/**
 * {@code batchweave_handshake.h} has the offsets of the schema as literals: here they are compared
 * with the schema, and messages travel both ways between it and the generated Java codecs.
 */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class NativeHandshakeTest {
  /** Lengths of the types of fields; enums have one byte. */
  private static final Map<String, Integer> LENGTHS =
      Map.of("int64", 8, "uint64", 8, "int32", 4, "uint32", 4);

  private static String run(String... arguments) {
    List<String> command = new ArrayList<>();
    command.add(NativeProgram.compile("test/handshake_unit.c", Build.SANITIZED).toString());
    command.addAll(List.of(arguments));
    return NativeProgram.run(command, Map.of(), 30).output().trim();
  }

  private static String constant(String camel) {
    return camel.replaceAll("([a-z])([A-Z])", "$1_$2").toUpperCase(Locale.ROOT);
  }

  private static List<Element> children(Element parent, String name) {
    List<Element> found = new ArrayList<>();
    for (Node node = parent.getFirstChild(); node != null; node = node.getNextSibling()) {
      if (node instanceof Element element && element.getTagName().equals(name)) {
        found.add(element);
      }
    }
    return found;
  }

  /** Every constant that the schema prescribes for the header. */
  private static Map<String, Integer> prescribed()
      throws IOException, ParserConfigurationException, SAXException {
    Element schema =
        DocumentBuilderFactory.newInstance()
            .newDocumentBuilder()
            .parse(NativeProgram.include().resolve("batchweave-handshake.xml").toFile())
            .getDocumentElement();
    Map<String, Integer> constants = new TreeMap<>();
    constants.put("BW_SCHEMA_ID", Integer.valueOf(schema.getAttribute("id")));
    constants.put("BW_SCHEMA_VERSION", Integer.valueOf(schema.getAttribute("version")));
    for (Element message : children(schema, "sbe:message")) {
      String prefix = "BW_" + constant(message.getAttribute("name")) + "_";
      constants.put(prefix + "TEMPLATE", Integer.valueOf(message.getAttribute("id")));
      int offset = 0;
      for (Element field : children(message, "field")) {
        constants.put(prefix + constant(field.getAttribute("name")), offset);
        offset += LENGTHS.getOrDefault(field.getAttribute("type"), 1);
      }
      constants.put(prefix + "BLOCK", offset);
    }
    for (Element type : children(children(schema, "types").get(0), "enum")) {
      if (type.getAttribute("name").equals("RefusalCode")) {
        for (Element value : children(type, "validValue")) {
          constants.put(
              "BW_REFUSAL_" + value.getAttribute("name"),
              Integer.valueOf(value.getTextContent().trim()));
        }
      }
    }
    return constants;
  }

  @Test
  void shouldHaveTheOffsetsOfTheSchemaWhenComparedOneByOne()
      throws IOException, ParserConfigurationException, SAXException {
    String header = Files.readString(NativeProgram.include().resolve("batchweave_handshake.h"));
    Map<String, Integer> written = new TreeMap<>();
    Matcher matcher =
        Pattern.compile(
                "(BW_(?:SCHEMA|HELLO|WELCOME|REFUSED|REFUSAL|CHECKPOINT|REGISTERED|QUESTION|STATUS)_\\w+) = (0x)?(\\w+)")
            .matcher(header);
    while (matcher.find()) {
      int radix = matcher.group(2) == null ? 10 : 16;
      written.put(matcher.group(1), Integer.parseInt(matcher.group(3), radix));
    }
    Map<String, Integer> prescribed = prescribed();
    prescribed.put("BW_HELLO_STREAM_ID", HandshakeProtocol.HELLO_STREAM_ID);
    assertEquals(prescribed, written);
    assertTrue(header.contains("BW_MESSAGE_CAPACITY = " + HandshakeProtocol.MAX_MESSAGE_BYTES));
  }

  @Test
  void shouldBeReadByJavaWhenCSaysHello() {
    byte[] message = HexFormat.of().parseHex(run("hello"));
    UnsafeBuffer buffer = new UnsafeBuffer(message);
    HelloDecoder hello =
        new HelloDecoder().wrapAndApplyHeader(buffer, 0, new MessageHeaderDecoder());
    assertEquals(HelloEncoder.BLOCK_LENGTH, hello.sbeBlockLength());
    assertEquals(0x0102030405060708L, hello.attempt());
    assertEquals(-1, hello.nextStep());
    assertEquals(77, hello.welcomeStreamId());
    assertEquals(1, hello.abi());
    assertEquals(3, hello.dp());
    assertEquals(8, hello.dpSize());
    assertEquals(1, hello.cp());
    assertEquals(2, hello.cpSize());
    assertEquals(4, hello.localReaders());
    assertEquals(7, hello.rank());
    assertEquals(4711, hello.pid());
    assertEquals(Takeover.REFUSE, hello.takeover());
    assertEquals(ClientKind.C, hello.client());
    assertEquals(99, hello.viewVersion());
    byte[] bytes = new byte[512];
    assertEquals("s3://bucket/corpus", text(bytes, hello.getStream(bytes, 0, 512)));
    assertEquals("group-1", text(bytes, hello.getGroup(bytes, 0, 64)));
    assertEquals("session-1", text(bytes, hello.getSession(bytes, 0, 64)));
    assertEquals("00.reader", text(bytes, hello.getReaderFile(bytes, 0, 64)));
    assertEquals("", text(bytes, hello.getPreviousReaderFile(bytes, 0, 64)));
    assertEquals("\1\2\3", text(bytes, hello.getToken(bytes, 0, 256)));
    assertEquals(message.length, hello.limit());
  }

  private static String text(byte[] bytes, int length) {
    return new String(bytes, 0, length, StandardCharsets.UTF_8);
  }

  @Test
  void shouldBeReadByCWhenJavaAnswers() {
    UnsafeBuffer buffer = new UnsafeBuffer(new byte[HandshakeProtocol.MAX_MESSAGE_BYTES]);
    WelcomeEncoder welcome =
        new WelcomeEncoder()
            .wrapAndApplyHeader(buffer, 0, new MessageHeaderEncoder())
            .attempt(1)
            .generationHigh(2)
            .generationLow(3)
            .firstStep(4)
            .firstIndex(5)
            .controlSizeBytes(6)
            .dataSizeBytes(7)
            .streamIdHigh(8)
            .streamIdLow(9)
            .viewVersion(10)
            .abi(11)
            .ring(12)
            .slots(13)
            .pageSizeBytes(14)
            .hold(15)
            .gridDp(16)
            .gridCp(17);
    putText(buffer, welcome);
    assertEquals(
        "welcome 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 ring-0.1.ctl ring-0.data",
        run("answer", hex(buffer, welcome.limit())));
    RefusedEncoder refused =
        new RefusedEncoder()
            .wrapAndApplyHeader(buffer, 0, new MessageHeaderEncoder())
            .attempt(1)
            .step(2)
            .bytes(3)
            .retryAfterMillis(4)
            .code(RefusalCode.RING_HELD);
    byte[] text = "why not".getBytes(StandardCharsets.UTF_8);
    refused.putText(text, 0, text.length);
    String answer = run("answer", hex(buffer, refused.limit()));
    assertEquals("refused 1 2 3 4 RING_HELD why not", answer);
    assertFalse(answer.isEmpty());
  }

  @Test
  void shouldBeReadByJavaWhenCAsksForSomethingElse() {
    HandshakeCodec codec = new HandshakeCodec();
    UnsafeBuffer checkpoint = new UnsafeBuffer(HexFormat.of().parseHex(run("checkpoint")));
    assertEquals(
        new Checkpoint(7, 8, 1, "s3://bucket/corpus", "group-1", "session-1", 99, "step-41", 41, 3),
        codec.decodeRequest(checkpoint, 0, checkpoint.capacity()));
    UnsafeBuffer question = new UnsafeBuffer(HexFormat.of().parseHex(run("question")));
    assertEquals(
        new Question(7, 8, 1, "s3://bucket/corpus", "group-1", "session-1", 99),
        codec.decodeRequest(question, 0, question.capacity()));
  }

  @Test
  void shouldReadWhatJavaAnswersToSomethingElse() {
    HandshakeCodec codec = new HandshakeCodec();
    UnsafeBuffer buffer = new UnsafeBuffer(new byte[HandshakeProtocol.MAX_MESSAGE_BYTES]);
    int registered = codec.encode(5, new Answer.Registered(17), buffer);
    assertEquals("registered 5 17", run("answer", hex(buffer, registered)));
    int status = codec.encode(6, new Answer.Status(1, 2, true, 3, 4), buffer);
    assertEquals("status 6 1 2 3 4 1", run("answer", hex(buffer, status)));
  }

  private static void putText(UnsafeBuffer buffer, WelcomeEncoder welcome) {
    byte[] control = "ring-0.1.ctl".getBytes(StandardCharsets.UTF_8);
    byte[] data = "ring-0.data".getBytes(StandardCharsets.UTF_8);
    welcome.putControlFile(control, 0, control.length).putDataFile(data, 0, data.length);
    assertTrue(welcome.limit() <= buffer.capacity());
  }

  private static String hex(UnsafeBuffer buffer, int length) {
    byte[] bytes = new byte[length];
    buffer.getBytes(0, bytes);
    return HexFormat.of().formatHex(bytes);
  }
}
