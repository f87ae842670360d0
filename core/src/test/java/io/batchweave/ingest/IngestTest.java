package io.batchweave.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Grid;
import io.batchweave.format.Limits;
import io.batchweave.format.Safetensors;
import io.batchweave.format.SliceEntry;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class IngestTest {
  private static final Grid GRID = new Grid(2, 2);

  private static IngestContext context() {
    return new IngestContext().inputs(List.of("memory")).sequenceLength(4).globalBatch(4);
  }

  @Test
  void shouldWriteEveryByteOnceAndPadTheLastBatch() {
    MemorySource source = new MemorySource().put("/a", "hello").put("/b", "").put("/c", "wörld");
    MemorySink sink = new MemorySink(GRID);
    IngestTotals totals = Ingest.run(context(), sink, source);
    assertEquals(new IngestTotals(1, 2, 2, 4, 13, 3, 11, 0), totals);
    assertEquals(documents("hello", "wörld"), sink.tokens());
  }

  @Test
  void shouldCutSequencesByDpAndColumnsByCp() {
    MemorySource source = new MemorySource().put("/a", "0123456789abcd");
    MemorySink sink = new MemorySink(GRID);
    IngestTotals totals = Ingest.run(context(), sink, source);
    assertEquals(1, totals.paddingTokens());
    assertEquals(List.of((int) '0', (int) '1', (int) '4', (int) '5'), slice(sink.slices(0).get(0)));
    assertEquals(List.of((int) '2', (int) '3', (int) '6', (int) '7'), slice(sink.slices(0).get(1)));
    assertEquals(List.of((int) '8', (int) '9', (int) 'c', (int) 'd'), slice(sink.slices(0).get(2)));
    assertEquals(List.of((int) 'a', (int) 'b', 256, 257), slice(sink.slices(0).get(3)));
    List<SliceEntry> slices = sink.batches().getFirst().slices();
    assertEquals(List.of(4L, 4L, 4L, 3L), slices.stream().map(SliceEntry::tokens).toList());
    assertEquals(List.of(2L, 2L, 2L, 2L), slices.stream().map(SliceEntry::samples).toList());
    assertEquals("/a:0-14", sink.batches().getFirst().origin());
    Safetensors.Header header =
        Safetensors.read("slice", sink.slices(0).get(0), sink.slices(0).get(0).length());
    assertEquals(List.of(2L, 2L), header.tensors().getFirst().shape());
    assertEquals("tokens", header.tensors().getFirst().name());
  }

  @Test
  void shouldCountSamplesWithoutThoseThatAreAllPadding() {
    MemorySource source = new MemorySource().put("/a", "01234");
    MemorySink sink = new MemorySink(GRID);
    assertEquals(2, Ingest.run(context(), sink, source).samples());
    List<SliceEntry> slices = sink.batches().getFirst().slices();
    assertEquals(List.of(2L, 2L, 0L, 0L), slices.stream().map(SliceEntry::samples).toList());
    assertEquals(List.of(4L, 2L, 0L, 0L), slices.stream().map(SliceEntry::tokens).toList());
  }

  @Test
  void shouldAddNothingWhenRunAgain() {
    MemorySource source = new MemorySource().put("/a", "hello");
    MemorySink sink = new MemorySink(GRID);
    IngestTotals first = Ingest.run(context(), sink, source);
    assertEquals(first, Ingest.run(context(), sink, source));
    assertEquals(1, sink.batches().size());
  }

  @Test
  void shouldGoOnWithWhatWasAppendedThenWithNewFiles() {
    MemorySource source = new MemorySource().put("/b", "bb").put("/c", "cc");
    MemorySink sink = new MemorySink(GRID);
    Ingest.run(context(), sink, source);
    source.put("/a", "aa").append("/c", "CC").append("/b", "BB");
    IngestTotals totals = Ingest.run(context(), sink, source);
    assertEquals(documents("bb", "cc", "BB", "CC", "aa"), sink.tokens());
    assertEquals(10, totals.bytes());
    assertEquals(5, totals.documents());
  }

  /**
   * Kill and resume (H2 at this level): whatever the moments at which it dies and what was
   * committed by then, the stream is byte for byte that of an undisturbed run.
   */
  @Test
  void shouldMakeTheSameBatchesHoweverOftenItIsKilled() {
    for (int seed = 0; seed < 400; seed++) {
      Random random = new Random(seed);
      boolean jsonl = random.nextBoolean();
      MemorySource source = randomSource(random, jsonl);
      Grid grid = new Grid(1 + random.nextInt(3), 1 + random.nextInt(2));
      IngestContext context =
          context()
              .sequenceLength(grid.cp() * (1 + random.nextInt(6)))
              .globalBatch(grid.dp() * (1 + random.nextInt(4)))
              .textField(jsonl ? "text" : "")
              .onError(OnError.SKIP);
      MemorySink whole = new MemorySink(grid);
      IngestTotals totals = Ingest.run(context, whole, source);
      MemorySink broken = new MemorySink(grid);
      IngestTotals resumed = null;
      for (int kills = 0; resumed == null; kills++) {
        broken.crashAfter(kills < 30 ? random.nextInt(6) : Integer.MAX_VALUE);
        int before = broken.batches().size();
        try {
          resumed = Ingest.run(context, broken, source);
        } catch (MemorySink.Killed e) {
          int added = broken.batches().size() - before;
          broken.keep(before + random.nextInt(added + 1));
        }
      }
      assertEquals(whole.payloads(), broken.payloads(), "seed=" + seed);
      assertEquals(whole.states(), broken.states(), "seed=" + seed);
      assertEquals(totals, resumed, "seed=" + seed);
      assertVerified(context, source, broken, grid);
    }
  }

  @Test
  void shouldHaveEveryByteOnceWhenFilesGrowBetweenKills() {
    for (int seed = 0; seed < 200; seed++) {
      Random random = new Random(seed);
      MemorySource source = randomSource(random, false);
      MemorySink sink = new MemorySink(GRID);
      for (int round = 0; round < 6; round++) {
        sink.crashAfter(random.nextInt(8));
        int before = sink.batches().size();
        try {
          Ingest.run(context(), sink, source);
        } catch (MemorySink.Killed e) {
          sink.keep(before + random.nextInt(sink.batches().size() - before + 1));
        }
        source.append("/dir/" + random.nextInt(12), "more" + round);
      }
      sink.crashAfter(Integer.MAX_VALUE);
      IngestTotals totals = Ingest.run(context(), sink, source);
      long bytes = source.contents().values().stream().mapToLong(file -> file.length).sum();
      assertEquals(bytes, totals.bytes());
      assertEquals(histogram(source), histogram(sink.tokens()), "seed=" + seed);
      IngestCursor cursor = IngestCursorCodec.decode(sink.sourceState());
      for (IngestCursor.Consumed file : cursor.files()) {
        byte[] content = source.contents().get(file.path());
        assertNotNull(content);
        assertEquals(content.length, file.lengthBytes());
      }
    }
  }

  @Test
  void shouldNameAConsumedFileThatChangedShrankOrVanished() {
    MemorySource source = new MemorySource().put("/a", "hello").put("/b", "0123456789abcdefghij");
    MemorySink sink = new MemorySink(GRID);
    sink.crashAfter(1);
    assertThrows(MemorySink.Killed.class, () -> Ingest.run(context(), sink, source));
    assertRefused(sink, source.put("/a", "hellO"), "a consumed file was changed: file=/a");
    assertRefused(sink, source.put("/a", "hell"), "a consumed file was changed: file=/a");
    assertRefused(sink, source.remove("/a"), "no longer among the inputs: file=/a");
    source.put("/a", "hello");
    assertRefused(sink, source.put("/b", "0123X56789abcdefghij"), "changed: file=/b");
    assertRefused(sink, source.put("/b", "012"), "changed: file=/b");
    source.put("/b", "0123456789ABCDEFGHIJ");
    Ingest.run(context(), sink, source);
    assertEquals(documents("hello", "0123456789ABCDEFGHIJ"), sink.tokens());
  }

  @Test
  void shouldReadTheTextOfEveryLine() {
    MemorySource source =
        new MemorySource()
            .put(
                "/a.jsonl",
                "{\"id\":1,\"text\":\"one\"}\r\n\n  \n{\"text\":\"\",\"x\":{\"text\":[1]}}\n"
                    + "{\"text\":\"l\\u00f6\\ud83d\\ude00\"}");
    MemorySink sink = new MemorySink(GRID);
    IngestTotals totals = Ingest.run(context().textField("text"), sink, source);
    assertEquals(documents("one", "", "lö😀"), sink.tokens());
    assertEquals(3, totals.documents());
    source.append("/a.jsonl", "\n{\"text\":\"two\"}\n");
    Ingest.run(context().textField("text"), sink, source);
    assertEquals(documents("one", "", "lö😀", "two"), sink.tokens());
  }

  @Test
  void shouldNameFileAndLineOfABadLine() {
    for (String bad :
        List.of(
            "{\"text\":\"x\"",
            "[1]",
            "{\"other\":1}",
            "{\"text\":1}",
            "{\"text\":null}",
            "{\"text\":\"a\",\"text\":\"b\"}",
            "{\"text\":\"a\"} b",
            "{\"text\":\"\\ud800\"}",
            "nonsense")) {
      MemorySource source =
          new MemorySource().put("/a", "{\"text\":\"one\"}\n\n" + bad + "\n{\"text\":\"two\"}\n");
      MemorySink sink = new MemorySink(GRID);
      BatchWeaveException e =
          assertThrows(
              BatchWeaveException.class,
              () -> Ingest.run(context().textField("text"), sink, source));
      assertEquals(Kind.CONFIG, e.kind());
      assertTrue(e.toString().contains("file=/a line=3: "), e.toString());
      List<String> skipped = new ArrayList<>();
      IngestListener listener =
          new IngestListener() {
            @Override
            public void onSkipped(String file, long line, String reason) {
              skipped.add(file + ":" + line);
            }
          };
      IngestTotals totals =
          Ingest.run(
              context().textField("text").onError(OnError.SKIP).listener(listener), sink, source);
      assertEquals(1, totals.skippedLines());
      assertEquals(List.of("/a:3"), skipped);
      assertEquals(documents("one", "two"), sink.tokens());
    }
    MemorySource notUtf8 = new MemorySource().put("/a", new byte[] {'{', (byte) 0xC3, '\n'});
    BatchWeaveException e =
        assertThrows(
            BatchWeaveException.class,
            () -> Ingest.run(context().textField("text"), new MemorySink(GRID), notUtf8));
    assertTrue(e.toString().contains("file=/a line=1: not UTF-8"), e.toString());
  }

  @Test
  void shouldNameTheRightLineAfterResuming() {
    MemorySource source =
        new MemorySource().put("/a", "{\"text\":\"0123456789abcdef\"}\n".repeat(5));
    MemorySink sink = new MemorySink(GRID);
    sink.crashAfter(3);
    IngestContext context = context().textField("text");
    assertThrows(MemorySink.Killed.class, () -> Ingest.run(context, sink, source));
    source.append("/a", "bad\n");
    BatchWeaveException e =
        assertThrows(BatchWeaveException.class, () -> Ingest.run(context, sink, source));
    assertTrue(e.toString().contains("file=/a line=6: "), e.toString());
  }

  @Test
  void shouldRefuseABatchThatDoesNotFitTheGrid() {
    MemorySource source = new MemorySource().put("/a", "x");
    assertConfig(context().globalBatch(3), source, "dp does not divide the global batch");
    assertConfig(context().sequenceLength(5), source, "cp does not divide the sequence");
    assertConfig(context().microBatches(3), source, "micro-batches do not divide");
    assertConfig(context().globalBatch(0), source, "bad ingest setting: globalBatch=0");
    assertConfig(context().sequenceLength(0), source, "bad ingest setting: seqLen=0");
    assertConfig(context().microBatches(0), source, "bad ingest setting: microBatches=0");
    assertConfig(context().inputs(List.of()), source, "bad ingest setting: inputs");
    assertConfig(
        context().sequenceLength(1 << 20).globalBatch(1 << 10), source, "seqLen*globalBatch");
  }

  @Test
  void shouldRefuseOtherSettingsThanBefore() {
    MemorySource source = new MemorySource().put("/a", "x");
    MemorySink sink = new MemorySink(GRID);
    Ingest.run(context(), sink, source);
    BatchWeaveException e =
        assertThrows(
            BatchWeaveException.class,
            () -> Ingest.run(context().shard(new Shard(0, 2)), sink, source));
    assertEquals(Kind.CONFIG, e.kind());
    assertTrue(e.toString().contains("shard=0/1"), e.toString());
    source.append("/a", "y");
    Ingest.run(context().sequenceLength(8), sink, source);
    assertEquals(documents("x"), sink.tokens().subList(0, 2));
  }

  @Test
  void shouldKeepTheCursorOfAFewHundredFilesWithinTheBlock() {
    MemorySource source = new MemorySource();
    for (int i = 0; i < 200; i++) {
      source.put(
          "/home/user/project/core/src/main/java/io/example/part%02d/Class%03d.java"
              .formatted(i / 20, i),
          "x".repeat(500));
    }
    MemorySink sink = new MemorySink(GRID);
    Ingest.run(context().sequenceLength(4096), sink, source);
    int length = sink.sourceState().length();
    assertTrue(length <= Limits.INLINE_SOURCE_STATE_BYTES, "length=" + length);
  }

  @Test
  void shouldKeepAnOriginWithinItsLimit() {
    MemorySource source = new MemorySource();
    for (int i = 0; i < 5; i++) {
      source.put("/" + "ä".repeat(300) + i, "x");
    }
    MemorySink sink = new MemorySink(GRID);
    Ingest.run(context(), sink, source);
    String origin = sink.batches().getFirst().origin();
    int length = origin.getBytes(StandardCharsets.UTF_8).length;
    assertTrue(length <= Limits.ORIGIN_BYTES && length > 200, origin);
    assertTrue(origin.contains("ä0:0-1, 3 more, …") && origin.endsWith("ä4:0-1"), origin);
  }

  @Test
  void shouldFindWhatIsMissingTwiceOrOutOfOrder() {
    MemorySource source =
        new MemorySource().put("/a", "The quick brown fox jumps over the lazy dog. And again.");
    MemorySink sink = new MemorySink(GRID);
    Ingest.run(context(), sink, source);
    assertVerified(context(), source, sink, GRID);
    assertEquals(4, sink.batches().size());
    assertProblem(source, sink, List.of(0, 1, 2), "the input has more than the stream");
    assertProblem(source, sink, List.of(0, 1, 1, 2, 3), "not the input's next token: step=2");
    assertProblem(source, sink, List.of(1, 0, 2, 3), "not the input's next token: step=0");
    assertProblem(source, sink, List.of(0, 2, 3), "not the input's next token: step=1");
    assertProblem(source, sink, List.of(0, 1, 2, 3, 3), "more than the input: step=4");
  }

  private static void assertProblem(
      MemorySource source, MemorySink sink, List<Integer> order, String problem) {
    try (IngestVerifier verifier = new IngestVerifier(context(), source)) {
      for (int step = 0; step < order.size(); step++) {
        verifier.accept(step, GRID, sink.slices(order.get(step)));
      }
      IngestVerifier.Verdict verdict = verifier.verdict();
      assertFalse(verdict.holds());
      assertNotNull(verdict.problem());
      assertTrue(verdict.problem().contains(problem), verdict.problem());
    }
  }

  private static void assertVerified(
      IngestContext context, MemorySource source, MemorySink sink, Grid grid) {
    try (IngestVerifier verifier = new IngestVerifier(context, source)) {
      for (int i = 0; i < sink.batches().size(); i++) {
        verifier.accept(i, grid, sink.slices(i));
      }
      IngestVerifier.Verdict verdict = verifier.verdict();
      assertTrue(verdict.holds(), String.valueOf(verdict.problem()));
      if (!sink.batches().isEmpty()) {
        IngestTotals totals = IngestCursorCodec.decode(sink.sourceState()).totals();
        assertEquals(
            new IngestVerifier.Verdict(
                totals.batches(), totals.tokens(), totals.paddingTokens(), totals.bytes(), null),
            verdict);
      }
    }
  }

  private static void assertRefused(MemorySink sink, MemorySource source, String what) {
    BatchWeaveException e =
        assertThrows(BatchWeaveException.class, () -> Ingest.run(context(), sink, source));
    assertEquals(Kind.CONFIG, e.kind());
    assertTrue(e.toString().contains(what), e.toString());
  }

  private static void assertConfig(IngestContext context, MemorySource source, String what) {
    BatchWeaveException e =
        assertThrows(
            BatchWeaveException.class, () -> Ingest.run(context, new MemorySink(GRID), source));
    assertEquals(Kind.CONFIG, e.kind());
    assertTrue(e.toString().contains(what), e.toString());
  }

  private static MemorySource randomSource(Random random, boolean jsonl) {
    MemorySource source = new MemorySource();
    for (int i = random.nextInt(8) + 1; i > 0; i--) {
      StringBuilder text = new StringBuilder();
      for (int line = random.nextInt(6); line > 0; line--) {
        String words = "wörd \"\\ ".repeat(random.nextInt(6));
        if (!jsonl) {
          text.append(words).append(random.nextBoolean() ? "\n" : "\r\n");
        } else if (random.nextInt(4) == 0) {
          text.append(random.nextBoolean() ? "bad\n" : "\n");
        } else {
          text.append("{\"text\":\"")
              .append(words.replace("\\", "\\\\").replace("\"", "\\\""))
              .append("\"}")
              .append(line == 1 && random.nextBoolean() ? "" : "\n");
        }
      }
      source.put("/dir/" + i, text.toString());
    }
    return source;
  }

  private static List<Long> histogram(MemorySource source) {
    Long[] counts = new Long[256];
    Arrays.fill(counts, 0L);
    for (byte[] file : source.contents().values()) {
      for (byte b : file) {
        counts[b & 0xFF]++;
      }
    }
    return Arrays.asList(counts);
  }

  private static List<Long> histogram(List<Integer> tokens) {
    Long[] counts = new Long[256];
    Arrays.fill(counts, 0L);
    for (int token : tokens) {
      if (token < 256) {
        counts[token]++;
      }
    }
    return Arrays.asList(counts);
  }

  private static List<Integer> documents(String... texts) {
    List<Integer> tokens = new ArrayList<>();
    for (String text : texts) {
      for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
        tokens.add(b & 0xFF);
      }
      tokens.add(ByteTokens.END_OF_DOCUMENT);
    }
    return tokens;
  }

  private static List<Integer> slice(Bytes slice) {
    return Arrays.stream(SliceCutter.join("slice", new Grid(1, 1), List.of(slice)))
        .boxed()
        .toList();
  }
}
