package io.batchweave.format;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Safetensors.Header;
import io.batchweave.format.Safetensors.Spec;
import io.batchweave.format.Safetensors.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class SafetensorsTest {
  private static final String TENSOR =
      "{\"a\":{\"dtype\":\"I32\",\"shape\":[2,2],\"data_offsets\":[0,16]}}";

  @Test
  void shouldPinTheBytesOfAHeader() {
    Header header =
        Safetensors.layout(
            List.of(new Spec("tokens", Dtype.I32, List.of(2L, 8L))), Collections.emptySortedMap());
    String json = "{\"tokens\":{\"dtype\":\"I32\",\"shape\":[2,8],\"data_offsets\":[0,64]}}";
    assertEquals(128, header.bytes().length());
    assertEquals(192, header.lengthBytes());
    byte[] bytes = header.bytes().toByteArray();
    assertEquals(120, bytes[0]);
    assertEquals(
        json + " ".repeat(120 - json.length()), new String(bytes, 8, 120, StandardCharsets.UTF_8));
  }

  @Test
  void shouldAlignEveryTensorToItsElement() {
    Random random = new Random(1);
    Dtype[] dtypes = Dtype.values();
    for (int round = 0; round < 300; round++) {
      List<Spec> specs = new ArrayList<>();
      for (int i = random.nextInt(12); i > 0; i--) {
        List<Long> shape = new ArrayList<>();
        for (int d = random.nextInt(4); d > 0; d--) {
          shape.add((long) random.nextInt(6));
        }
        Dtype dtype = dtypes[random.nextInt(dtypes.length)];
        if (dtype.bits() < 8) {
          shape.add(4L);
        }
        specs.add(new Spec("t" + i, dtype, shape));
      }
      TreeMap<String, String> metadata = new TreeMap<>();
      metadata.put("k\"" + round, "line\nü" + round);
      Header header = Safetensors.layout(specs, metadata);
      assertEquals(0, header.bytes().length() % 64);
      for (Tensor tensor : header.tensors()) {
        assertEquals(
            0, tensor.offset() * 8 % Math.max(8, tensor.dtype().bits()), tensor.toString());
      }
      assertEquals(specs.size(), header.tensors().size());
      assertEquals(header, Safetensors.read("f", header.bytes(), header.lengthBytes()));
    }
  }

  @Test
  void shouldReadScalarsEmptyTensorsAndEmptyFiles() {
    Header scalar = read("{\"a\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]}}", 8);
    assertEquals(List.of(), scalar.tensors().getFirst().shape());
    assertEquals(8, scalar.tensors().getFirst().lengthBytes());
    Header empty =
        read(
            "{\"b\":{\"dtype\":\"BF16\",\"shape\":[0,7],\"data_offsets\":[0,0]},"
                + "\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[3],\"data_offsets\":[0,3]},"
                + "\"c\":{\"dtype\":\"BOOL\",\"shape\":[0],\"data_offsets\":[3,3]}}",
            3);
    assertEquals(List.of("b", "a", "c"), empty.tensors().stream().map(Tensor::name).toList());
    assertEquals(List.of(), read("{}", 0).tensors());
    assertEquals("y", read("{\"__metadata__\":{\"x\":\"y\"}}   ", 0).metadata().get("x"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "[]",
        " {}",
        "{} x",
        "{}{}",
        "{",
        "{\"a\":1}",
        "{\"a\":{}}",
        "{\"__metadata__\":{\"x\":1}}",
        "{\"__metadata__\":[]}",
        "{\"__metadata__\":{\"x\":\"y\",\"x\":\"z\"}}",
        "{\"__metadata__\":{},\"__metadata__\":{}}",
        "{\"a\":{\"dtype\":\"I33\",\"shape\":[2,2],\"data_offsets\":[0,16]}}",
        "{\"a\":{\"dtype\":7,\"shape\":[2,2],\"data_offsets\":[0,16]}}",
        "{\"a\":{\"dtype\":\"I32\",\"shape\":[2,2],\"data_offsets\":[0,15]}}",
        "{\"a\":{\"dtype\":\"I32\",\"shape\":[2,2],\"data_offsets\":[16,0]}}",
        "{\"a\":{\"dtype\":\"I32\",\"shape\":[2,2],\"data_offsets\":[0]}}",
        "{\"a\":{\"dtype\":\"I32\",\"shape\":[2,2],\"data_offsets\":[0,16,32]}}",
        "{\"a\":{\"dtype\":\"I32\",\"shape\":[2,2],\"data_offsets\":[16,32]}}",
        "{\"a\":{\"dtype\":\"I32\",\"shape\":[2,2],\"data_offsets\":[-16,0]}}",
        "{\"a\":{\"dtype\":\"I32\",\"shape\":[2,-2],\"data_offsets\":[0,16]}}",
        "{\"a\":{\"dtype\":\"I32\",\"shape\":[2,2.0],\"data_offsets\":[0,16]}}",
        "{\"a\":{\"dtype\":\"I32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,16]}}",
        "{\"a\":{\"dtype\":\"I32\",\"shape\":[18446744073709551617],\"data_offsets\":[0,16]}}",
        "{\"a\":{\"dtype\":\"I32\",\"shape\":4,\"data_offsets\":[0,16]}}",
        "{\"a\":{\"dtype\":\"I32\",\"shape\":[2,2]}}",
        "{\"a\":{\"dtype\":\"I32\",\"shape\":[2,2],\"data_offsets\":[0,16],\"more\":1}}",
        "{\"a\":{\"dtype\":\"I32\",\"dtype\":\"I32\",\"shape\":[4],\"data_offsets\":[0,16]}}",
        "{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}",
        "{\"a\":{\"dtype\":\"I8\",\"shape\":[8],\"data_offsets\":[0,8]},"
            + "\"a\":{\"dtype\":\"I8\",\"shape\":[8],\"data_offsets\":[8,16]}}",
        "{\"a\":{\"dtype\":\"I8\",\"shape\":[9],\"data_offsets\":[0,9]},"
            + "\"b\":{\"dtype\":\"I8\",\"shape\":[8],\"data_offsets\":[8,16]}}",
        "{\"a\":{\"dtype\":\"I8\",\"shape\":[7],\"data_offsets\":[0,7]},"
            + "\"b\":{\"dtype\":\"I8\",\"shape\":[8],\"data_offsets\":[8,16]}}",
        "{\"a\":{\"dtype\":\"I8\",\"shape\":[15],\"data_offsets\":[0,15]}}",
        "{\"a\":{\"dtype\":\"I8\",\"shape\":[17],\"data_offsets\":[0,17]}}"
      })
  void shouldRefuseWhatIsNoHeader(String json) {
    assertCorrupt(() -> read(json, 16));
  }

  @Test
  void shouldRefuseAHeaderThatIsNotUtf8() {
    byte[] file = file(TENSOR, 16);
    file[11] = (byte) 0xC3;
    assertCorrupt(() -> Safetensors.read("f", Bytes.wrap(file), file.length));
  }

  @Test
  void shouldRefuseImpossibleLengthsWithoutAllocatingThem() {
    for (long length : new long[] {0, 1, 100_000_001, Long.MAX_VALUE, -1, 1L << 32}) {
      byte[] file = file(TENSOR, 16);
      ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN).putLong(0, length);
      assertCorrupt(() -> Safetensors.read("f", Bytes.wrap(file), Long.MAX_VALUE));
    }
    assertCorrupt(() -> Safetensors.read("f", Bytes.wrap(new byte[7]), 7));
    byte[] whole = file(TENSOR, 16);
    assertCorrupt(() -> Safetensors.read("f", Bytes.wrap(new byte[] {60, 0, 0}), whole.length));
    byte[] prefix = Arrays.copyOf(whole, 20);
    assertCorrupt(() -> Safetensors.read("f", Bytes.wrap(prefix), whole.length));
  }

  @Test
  void shouldNeverThrowAnythingElse() {
    byte[] original = file(TENSOR, 16);
    Random random = new Random(11);
    for (int round = 0; round < 20_000; round++) {
      byte[] file = original.clone();
      for (int i = random.nextInt(3); i >= 0; i--) {
        file[random.nextInt(8 + TENSOR.length())] =
            (byte) random.nextInt(round % 2 == 0 ? 128 : 256);
      }
      try {
        Header header = Safetensors.read("f", Bytes.wrap(file), file.length);
        assertEquals(16, header.lengthBytes() - header.bytes().length());
      } catch (BatchWeaveException e) {
        assertEquals(Kind.CORRUPT, e.kind());
      }
    }
  }

  @Test
  void shouldRefuseToWriteWhatCannotBeRead() {
    assertRefused(new Spec("a", Dtype.I8, List.of(1L)), new Spec("a", Dtype.I8, List.of(1L)));
    assertRefused(new Spec("__metadata__", Dtype.I8, List.of(1L)));
    assertRefused(new Spec("a", Dtype.I8, List.of(-1L)));
    assertRefused(new Spec("a", Dtype.I64, List.of(1L << 40, 1L << 40)));
    assertRefused(new Spec("a", Dtype.F6_E2M3, List.of(3L)));
    assertRefused(new Spec("a", Dtype.I8, Collections.nCopies(65, 1L)));
  }

  private static Header read(String json, int dataBytes) {
    byte[] file = file(json, dataBytes);
    return Safetensors.read("f", Bytes.wrap(file), file.length);
  }

  private static byte[] file(String json, int dataBytes) {
    byte[] text = json.getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(8 + text.length + dataBytes)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putLong(text.length)
        .put(text)
        .array();
  }

  private static void assertRefused(Spec... specs) {
    BatchWeaveException e =
        assertThrows(
            BatchWeaveException.class,
            () -> Safetensors.layout(List.of(specs), Collections.emptySortedMap()));
    assertEquals(Kind.CONFIG, e.kind());
  }

  private static void assertCorrupt(Runnable decode) {
    BatchWeaveException e = assertThrows(BatchWeaveException.class, decode::run);
    assertEquals(Kind.CORRUPT, e.kind(), e.toString());
    assertTrue(e.toString().contains("object=f offset="), e.toString());
  }
}
