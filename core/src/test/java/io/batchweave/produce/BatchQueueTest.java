package io.batchweave.produce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.Bytes;
import io.batchweave.format.Block;
import io.batchweave.format.Grid;
import io.batchweave.format.Limits;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SliceEntry;
import io.batchweave.format.SourceState;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.Bits;
import io.batchweave.store.Payload;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Which batches share an object and a block, and when objects go up. */
class BatchQueueTest {
  private static final long MS = 1_000_000;

  private final BatchQueue queue = new BatchQueue("p", 8, new Bits(5));
  private final List<Long> sentIds = new ArrayList<>();
  private final List<StoreRequest.Upload> sent = new ArrayList<>();
  private final Iterator<Long> ids = LongStream.iterate(1, id -> id + 1).iterator();
  private long nowNs = MS;

  BatchQueueTest() {
    queue.begin(3, 41);
  }

  private static Tgb tgb(int slices, int sliceBytes, int value) {
    byte[] bytes = new byte[sliceBytes];
    Arrays.fill(bytes, (byte) value);
    TgbBuilder builder = new TgbBuilder(new Grid(slices, 1));
    for (int dp = 0; dp < slices; dp++) {
      builder.slice(dp, 0, Bytes.wrap(bytes), 1, 1, 1);
    }
    return builder.build();
  }

  private void add(int sliceBytes) {
    queue.add(tgb(1, sliceBytes, (int) queue.nextSeq()), Bytes.wrap(new byte[] {9}));
  }

  private void addMany(int count, int sliceBytes) {
    for (int i = 0; i < count; i++) {
      add(sliceBytes);
    }
  }

  /** Uploads what is due and answers how many requests that made. */
  private int upload() {
    int before = sent.size();
    queue.upload(
        nowNs,
        (id, request) -> {
          sentIds.add(id);
          sent.add((StoreRequest.Upload) request);
        },
        ids);
    return sent.size() - before;
  }

  private void answer(int index, StoreResponse response) {
    queue.onAnswer(sentIds.get(index), response, nowNs);
  }

  private List<Block.Produce> offers() {
    List<Block> offers = queue.changedOffers();
    assertNotNull(offers);
    return offers.stream().map(Block.Produce.class::cast).toList();
  }

  private static byte[] bytes(Payload payload) throws IOException {
    ByteBuffer whole = ByteBuffer.allocate((int) payload.lengthBytes());
    try (Payload.Reader reader = payload.open()) {
      assertTrue(reader.read(whole));
    }
    return whole.array();
  }

  @Test
  void shouldSendAtOnceWhenNothingIsOnItsWay() {
    add(1_000);
    assertEquals(1, upload());
    add(1_000);
    assertEquals(1, upload(), "two small objects may be on their way");
    addMany(500, 1_000);
    assertEquals(0, upload(), "what comes meanwhile gathers");
    answer(0, new StoreResponse.Created());
    assertEquals(1, upload());
    assertTrue(sent.get(2).key().contains("43-"), sent.get(2).key());
    assertEquals(502, queue.nextSeq() - 41);
    assertEquals(0, upload());
  }

  @Test
  void shouldNotDelayABigBatchWhenSmallObjectsAreOnTheirWay() {
    add(1_000);
    upload();
    add(1_000);
    upload();
    add((int) PackPolicy.RIPE_BYTES);
    assertEquals(1, upload());
  }

  @Test
  void shouldSendAtOnceWhenNothingCanJoinAnyMore() {
    add(1_000);
    upload();
    add(1_000);
    upload();
    add(2_000);
    assertEquals(0, upload());
    add((int) PackPolicy.FULL_BYTES);
    assertEquals(2, upload(), "the small one cannot grow, so it need not wait");
  }

  @Test
  void shouldKeepEveryUploadBusyWhenBatchesAreBig() {
    for (int i = 0; i < 8; i++) {
      add(2 << 20);
      assertEquals(1, upload());
    }
    for (int i = 0; i < 6; i++) {
      add(2 << 20);
      assertEquals(0, upload(), "all uploads are busy");
    }
    answer(0, new StoreResponse.Created());
    assertEquals(1, upload(), "what gathered meanwhile shares an object");
    assertTrue(sent.getLast().lengthBytes() <= PackPolicy.FULL_BYTES);
    assertTrue(sent.getLast().lengthBytes() > PackPolicy.FULL_BYTES / 2);
  }

  /** H4, D2: a batch is offered once its object is whole, and those before it are. */
  @Test
  void shouldOfferNothingBeforeItAndAllBeforeItAreUploaded() {
    for (int i = 0; i < 3; i++) {
      add(5 << 20);
    }
    assertEquals(3, upload());
    assertNull(queue.changedOffers());
    answer(2, new StoreResponse.Created());
    assertEquals(List.of(), offers());
    answer(1, new StoreResponse.Failed(StoreFailure.UNCLEAR, "test"));
    answer(0, new StoreResponse.Created());
    List<Block.Produce> first = offers();
    assertEquals(List.of(1), first.stream().map(block -> block.entries().size()).toList());
    nowNs += 20_000 * MS;
    assertEquals(1, upload());
    answer(3, new StoreResponse.Created());
    List<Long> seqs =
        offers().stream().flatMap(block -> block.entries().stream()).map(TgbEntry::seq).toList();
    assertEquals(List.of(41L, 42L, 43L), seqs);
  }

  @Test
  void shouldRecordEveryBatchWhereItLies() throws IOException {
    addMany(100, 777);
    assertEquals(1, upload());
    byte[] object = bytes(queue.payload(sent.getFirst().handle()));
    assertEquals(sent.getFirst().lengthBytes(), object.length);
    answer(0, new StoreResponse.Created());
    Block.Produce block = offers().getFirst();
    assertEquals(41, block.firstSeq());
    assertEquals(100, block.entries().size());
    assertEquals(new SourceState.Inline(Bytes.wrap(new byte[] {9})), block.sourceState());
    long end = 0;
    for (int i = 0; i < 100; i++) {
      TgbEntry entry = block.entries().get(i);
      assertEquals(41 + i, entry.seq());
      assertEquals(end, entry.offset(), "back to back");
      assertEquals(sent.getFirst().key(), ObjectNames.data(entry.object()));
      SliceEntry slice = entry.slices().getFirst();
      for (int k = 0; k < 777; k++) {
        assertEquals((byte) (41 + i), object[(int) slice.offset() + k]);
      }
      end = entry.offset() + entry.lengthBytes();
    }
    assertEquals(object.length, end);
  }

  @Test
  void shouldSendTheSameBytesUnderTheSameNameWhenAnUploadFails() throws IOException {
    addMany(3, 500);
    upload();
    byte[] first = bytes(queue.payload(sent.getFirst().handle()));
    addMany(3, 500);
    answer(0, new StoreResponse.Failed(StoreFailure.UNCLEAR, "test"));
    nowNs += 20_000 * MS;
    assertEquals(2, upload());
    assertEquals(sent.get(0).key(), sent.get(1).key(), "bound: what came later did not join");
    assertEquals(
        Bytes.wrap(first), Bytes.wrap(bytes(queue.payload(sent.get(1).handle()))), "same bytes");
    assertTrue(sent.get(2).key().contains("44-"), sent.get(2).key());
  }

  @Test
  void shouldFillBlocksToTheLimitAndNeverBeyondWhenBatchesAreMany() {
    for (int i = 0; i < 9_000; i++) {
      queue.add(tgb(8, 100, 1), Bytes.wrap(new byte[Limits.INLINE_SOURCE_STATE_BYTES]));
    }
    int answered = 0;
    while (answered < sent.size() || upload() > 0) {
      answer(answered++, new StoreResponse.Created());
      upload();
    }
    List<Block.Produce> blocks = offers();
    long nextSeq = 41;
    for (Block.Produce block : blocks) {
      assertEquals(nextSeq, block.firstSeq());
      nextSeq += block.entries().size();
      int length = ManifestCodec.encodedLength(block);
      assertTrue(length <= Limits.BLOCK_BYTES, "length=" + length);
      if (block.firstSeq() != blocks.getLast().firstSeq()) {
        assertTrue(length > Limits.BLOCK_BYTES * 9 / 10, "length=" + length);
      }
    }
    assertEquals(41 + 9_000, nextSeq);
    assertTrue(sent.size() <= 8, "uploads=" + sent.size());
  }

  @Test
  void shouldKeepABlockAsItWasWhenItWentOut() {
    addMany(2, 500);
    upload();
    answer(0, new StoreResponse.Created());
    List<Block.Produce> first = offers();
    queue.written(List.copyOf(first));
    addMany(2, 500);
    upload();
    answer(1, new StoreResponse.Created());
    List<Block.Produce> second = offers();
    assertEquals(first.getFirst(), second.getFirst());
    assertEquals(43, second.get(1).firstSeq());
    queue.committedThrough(42);
    assertEquals(List.of(second.get(1)), offers());
  }
}
