package io.batchweave.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.DataObject;
import io.batchweave.format.Envelope;
import io.batchweave.format.Grid;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.StreamCodec;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.log.Bits;
import io.batchweave.log.FollowPolicy;
import io.batchweave.produce.ProducerMachine;
import io.batchweave.produce.Tgb;
import io.batchweave.produce.TgbBuilder;
import io.batchweave.simulate.ModelStore;
import io.batchweave.simulate.ModelStore.Fates;
import io.batchweave.store.Payload;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ReaderMachineTest {
  private static final int MAX_EVENTS = 500_000;
  private static final Grid GRID = new Grid(260, 1);

  private final ModelStore store = new ModelStore(5);

  @BeforeEach
  void create() {
    byte[] stream =
        StreamCodec.encode(
            new StreamDescriptor(new UUID(1, 2), Envelope.FORMAT, GRID.dp(), GRID.cp(), 0));
    store.objects().put(ObjectNames.STREAM, Bytes.wrap(stream));
  }

  private static Bytes bytes(Payload payload) {
    ByteBuffer whole = ByteBuffer.allocate((int) payload.lengthBytes());
    try (Payload.Reader reader = payload.open()) {
      boolean done = false;
      while (!done) {
        done = reader.read(whole);
      }
    } catch (IOException e) {
      throw new AssertionError(e);
    }
    return Bytes.wrap(whole.array());
  }

  private static Tgb tgb() {
    TgbBuilder builder = new TgbBuilder(GRID);
    for (int dp = 0; dp < GRID.dp(); dp++) {
      builder.slice(dp, 0, Bytes.wrap(new byte[] {(byte) dp}), 1, 1, dp);
    }
    return builder.build();
  }

  private void produce(int count) {
    ProducerMachine producer =
        new ProducerMachine("p", 4, FollowPolicy.DEFAULT, new Bits(store.nowNs()));
    ModelStore.Client client = store.attach(producer);
    assertTrue(store.run(() -> producer.phase() == ProducerMachine.Phase.LIVE, MAX_EVENTS));
    Tgb tgb = tgb();
    client.payloads(handle -> bytes(producer.payload(handle)));
    for (int i = 0; i < count; i++) {
      producer.add(tgb, Bytes.EMPTY);
    }
    assertTrue(store.run(producer::drained, MAX_EVENTS));
    client.crash();
  }

  private ReaderMachine reader(int windowSteps) {
    ReaderMachine reader = new ReaderMachine(windowSteps, FollowPolicy.DEFAULT, new Bits(3));
    store.attach(reader);
    return reader;
  }

  private StepResult await(ReaderMachine reader, long step) {
    assertTrue(
        store.run(
            () ->
                !(reader.lookup(step) instanceof StepResult.NotYet
                    || reader.lookup(step) instanceof StepResult.Loading),
            MAX_EVENTS),
        () -> reader.lookup(step) + " trouble=" + reader.trouble());
    return reader.lookup(step);
  }

  @Test
  void shouldDescribeStepsWithTheirFootersWhenTheStoreIsTroubled() {
    produce(6);
    store.fates(Fates.troubled(30));
    ReaderMachine reader = reader(64);
    for (long step = 0; step < 6; step++) {
      StepResult.Ready ready = assertInstanceOf(StepResult.Ready.class, await(reader, step));
      assertEquals(260, ready.entry().slices().size());
      assertEquals(259, ready.entry().slices().get(259).tokens());
    }
    assertInstanceOf(StepResult.NotYet.class, reader.lookup(6));
    produce(1);
    assertInstanceOf(StepResult.Ready.class, await(reader, 6));
  }

  @Test
  void shouldNotPollWhenTheWindowIsFull() {
    produce(6);
    ReaderMachine reader = reader(4);
    await(reader, 3);
    long untilNs = store.nowNs() + 5_000_000_000L;
    long before = store.count();
    store.after(5_000_000_001L, () -> {});
    assertTrue(store.run(() -> store.nowNs() > untilNs, MAX_EVENTS));
    assertEquals(before, store.count());
    reader.want(2);
    assertInstanceOf(StepResult.Ready.class, await(reader, 5));
    assertEquals(2, reader.fromStep());
    assertInstanceOf(StepResult.Loading.class, reader.lookup(1));
  }

  @Test
  void shouldFailOneStepWhenItsObjectIsGone() {
    for (int step = 0; step < 3; step++) {
      produce(1); // an object of its own: batches made at once may share one
    }
    ReaderMachine first = reader(8);
    StepResult.Ready ready = assertInstanceOf(StepResult.Ready.class, await(first, 1));
    DataObject object = ready.entry().object();
    assertNotNull(store.objects().remove(ObjectNames.data(object)));
    ReaderMachine second = reader(8);
    StepResult.Failed failed = assertInstanceOf(StepResult.Failed.class, await(second, 1));
    assertEquals(Kind.CORRUPT, failed.cause().kind());
    assertInstanceOf(StepResult.Ready.class, await(second, 2));
  }

  @Test
  void shouldShareNothingWhenCopied() {
    produce(3);
    ReaderMachine reader = reader(8);
    await(reader, 0);
    ReaderMachine copy = reader.copy();
    assertEquals(reader.fingerprint(), copy.fingerprint());
    reader.want(2);
    await(reader, 2);
    assertEquals(0, copy.fromStep());
    assertInstanceOf(StepResult.Ready.class, copy.lookup(0));
  }
}
