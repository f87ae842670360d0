package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.bridge.handshake.Answer;
import io.batchweave.bridge.handshake.ClientKind;
import io.batchweave.bridge.handshake.HandshakeClient;
import io.batchweave.bridge.handshake.Hello;
import io.batchweave.bridge.handshake.RefusalCode;
import io.batchweave.bridge.memory.FileAccess;
import io.batchweave.bridge.memory.Mapping;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.Protection;
import io.batchweave.bridge.memory.SharedFile;
import io.batchweave.bridge.ring.CloseReason;
import io.batchweave.bridge.ring.Coordinate;
import io.batchweave.bridge.ring.Id128;
import io.batchweave.bridge.ring.ReaderDescriptor;
import io.batchweave.bridge.ring.ReaderHeader;
import io.batchweave.bridge.ring.RingAbi;
import io.batchweave.format.Block;
import io.batchweave.format.Grid;
import io.batchweave.read.Token;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Whom the daemon does not serve, and what it says. */
@Timeout(120)
class DaemonRefusalTest extends DaemonFixture {
  private static final Hello.RankShape ALONE = alone();

  private Hello hello(String stream, String session, Hello.RankShape shape, String readerFile) {
    return new Hello(
        0,
        0,
        RingAbi.VERSION,
        stream,
        "train",
        session,
        shape,
        0,
        0,
        Block.Takeover.SUPERSEDE,
        new Hello.Sender(3, 4, ClientKind.JAVA),
        readerFile,
        "",
        Bytes.EMPTY);
  }

  private Answer.Refused refused(Hello hello) {
    return assertInstanceOf(
        Answer.Refused.class,
        new HandshakeClient(NativeMemory.system(), directory, CLOCK)
            .ask(hello, CLOCK.nanoTime() + SOON_NS));
  }

  private static void assertRefused(RefusalCode code, String text, Answer answer) {
    Answer.Refused refused = assertInstanceOf(Answer.Refused.class, answer);
    assertEquals(code, refused.code(), refused.text());
    assertTrue(refused.text().contains(text), refused.text());
  }

  private static String someReader() {
    return "00112233445566778899aabbccddeeff.reader";
  }

  @Test
  void shouldSayWhatIsWrongWithAHello() {
    try (TestStream stream = new TestStream(url(), new Grid(4, 1), SLICE_BYTES);
        Daemon daemon = Daemon.launch(context())) {
      stream.add(1);
      assertRefused(
          RefusalCode.UNKNOWN_STREAM,
          "served=",
          refused(hello("/nowhere", "s", of(0, 4, 4), someReader())));
      assertRefused(
          RefusalCode.GRID_MISMATCH, "4x1", refused(hello(url(), "s", of(0, 3, 3), someReader())));
      assertRefused(
          RefusalCode.MALFORMED, "session", refused(hello(url(), "S!", ALONE, someReader())));
      assertRefused(
          RefusalCode.MALFORMED,
          "coordinate",
          refused(hello(url(), "s", of(4, 4, 4), someReader())));
      assertRefused(
          RefusalCode.MALFORMED,
          "localReaders",
          refused(hello(url(), "s", of(0, 4, 0), someReader())));
      assertRefused(
          RefusalCode.MALFORMED,
          "readerFile",
          refused(hello(url(), "s", of(0, 4, 4), "../../etc/passwd")));
      assertRefused(
          RefusalCode.READER_FILE,
          someReader(),
          refused(hello(url(), "s", of(0, 4, 4), someReader())));
      assertEquals(7, metric(daemon, "batchweave_refusals_total"));
    }
  }

  @Test
  void shouldRefuseAReaderFileWhoseLockItCannotSee() {
    NativeMemory memory = NativeMemory.system();
    Id128 id = new Id128(1, 2);
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES);
        Daemon daemon = Daemon.launch(context());
        SharedFile file =
            memory.open(directory.resolve(RingAbi.readerName(id)), FileAccess.CREATE)) {
      stream.add(1);
      file.truncate(ReaderDescriptor.LENGTH);
      try (Mapping mapping = file.map(ReaderDescriptor.LENGTH, Protection.READ_WRITE)) {
        ReaderDescriptor.writeHeader(
            mapping.segment(),
            new ReaderHeader(id, Id128.NONE, 1, 0, new Coordinate(0, 0), 1, 1, 1));
        assertRefused(
            RefusalCode.LOCK_NOT_VISIBLE,
            "kernel",
            refused(hello(url(), "s", ALONE, RingAbi.readerName(id))));
      }
      assertEquals(0, metric(daemon, "batchweave_ring_ranks"));
    }
  }

  @Test
  void shouldRefuseATokenOfAnotherStreamAndRanksThatDisagreeAboutTheStart() {
    try (TestStream stream = new TestStream(url(), new Grid(2, 1), SLICE_BYTES);
        Daemon daemon = Daemon.launch(context());
        TestRank foreign = rank(of(0, 2, 2), Hello.NO_STEP);
        TestRank first = rank(of(0, 2, 2), Hello.NO_STEP);
        TestRank second = rank(of(1, 2, 2), Hello.NO_STEP)) {
      stream.add(10);
      foreign.beBorn();
      assertRefused(
          RefusalCode.TOKEN_OF_OTHER_STREAM,
          "another stream",
          foreign.sayHello("", new Token(new UUID(1, 2), 0, 5).encode(), SOON_NS));
      UUID streamId = stream.streamId();
      first.beBorn();
      awaitNotYet(first, new Token(streamId, 0, 5).encode(), "ranks here=1");
      second.beBorn();
      assertRefused(
          RefusalCode.START_DISAGREES,
          "session=5",
          second.sayHello("", new Token(streamId, 0, 6).encode(), SOON_NS));
      Answer.Welcome welcome =
          assertInstanceOf(
              Answer.Welcome.class,
              second.sayHello("", new Token(streamId, 0, 5).encode(), SOON_NS));
      assertEquals(5, welcome.start().step());
      assertEquals(streamId, welcome.start().streamId());
      await("both ranks", () -> metric(daemon, "batchweave_ring_ranks") == 2);
    }
  }

  @Test
  void shouldRefuseARankThatAnnouncesOtherSizes() {
    try (TestStream stream = new TestStream(url(), new Grid(4, 1), SLICE_BYTES);
        Daemon daemon = Daemon.launch(context());
        TestRank first = rank(of(0, 4, 1), 0).attach(SOON_NS);
        TestRank sizes = rank(of(0, 2, 1), 0);
        TestRank readers = rank(of(1, 4, 2), 0)) {
      stream.add(1);
      assertEquals(0, first.step(SOON_NS).step());
      sizes.beBorn();
      assertRefused(RefusalCode.SIZES_DISAGREE, "sizes", sizes.sayHello("", Bytes.EMPTY, SOON_NS));
      readers.beBorn();
      assertRefused(
          RefusalCode.SIZES_DISAGREE, "local", readers.sayHello("", Bytes.EMPTY, SOON_NS));
      assertEquals(1, metric(daemon, "batchweave_generations_total"));
    }
  }

  @Test
  void shouldServeTheNextGroupAsSoonAsTheOnlyRanksOfAnotherHaveEnded() {
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES);
        Daemon daemon = Daemon.launch(context())) {
      stream.add(1);
      for (int i = 0; i < 40; i++) {
        TestRank.Identity next =
            new TestRank.Identity(
                directory, url(), i % 2 == 0 ? "train" : "validate", "run-0", ALONE);
        try (TestRank rank = new TestRank(next, 0).attach(SOON_NS)) {
          assertEquals(0, rank.step(SOON_NS).step());
        }
      }
      assertEquals(40, metric(daemon, "batchweave_attaches_total"));
    }
  }

  @Test
  void shouldRefuseASecondGroupWhenThereIsNoRingLeftAndServeItWithTwo() {
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES)) {
      stream.add(1);
      TestRank.Identity other = new TestRank.Identity(directory, url(), "validate", "run-0", ALONE);
      try (Daemon daemon = Daemon.launch(context());
          TestRank first = rank(ALONE, 0).attach(SOON_NS);
          TestRank second = new TestRank(other, 0)) {
        assertEquals(0, first.step(SOON_NS).step());
        second.beBorn();
        assertRefused(RefusalCode.NO_RING, "--rings 2", second.sayHello("", Bytes.EMPTY, SOON_NS));
        assertEquals(1, metric(daemon, "batchweave_attaches_total"));
      }
      try (Daemon daemon = Daemon.launch(context().rings(2));
          TestRank first = rank(ALONE, 0).attach(SOON_NS);
          TestRank second = new TestRank(other, 0).attach(SOON_NS)) {
        assertEquals(0, first.step(SOON_NS).step());
        assertEquals(0, second.step(SOON_NS).step());
        assertEquals(2, metric(daemon, "batchweave_attaches_total"));
      }
    }
  }

  @Test
  void shouldGiveTheRingToANewerLaunchAndKeepTheOlderOneOut() {
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES);
        Daemon daemon = Daemon.launch(context());
        TestRank old = rank("run-0", ALONE, 0).attach(SOON_NS)) {
      stream.add(30);
      TestRank.Take.Ready held = old.step(SOON_NS);
      try (TestRank young = rank("run-1", ALONE, 0).attach(SOON_NS)) {
        TestRank.Take take = old.take(SOON_NS);
        while (take instanceof TestRank.Take.Ready ready) {
          old.release(ready);
          take = old.take(SOON_NS);
        }
        // The log may tell of the newer launch before its rank does.
        assertTrue(
            take instanceof TestRank.Take.Closed(CloseReason why)
                && (why == CloseReason.NEW_SESSION || why == CloseReason.SESSION_END),
            String.valueOf(take));
        for (long step = 0; step < 30; step++) {
          TestRank.Take.Ready ready = young.step(SOON_NS);
          assertEquals(step, ready.step());
          young.release(ready);
        }
        assertArrayEquals(stream.slice(0, 0, 0), old.slice(held, 0, 0));
        try (TestRank again = rank("run-0", ALONE, 1)) {
          again.beBorn();
          assertRefused(RefusalCode.SUPERSEDED, "newer", again.sayHello("", Bytes.EMPTY, SOON_NS));
        }
      }
      assertTrue(metric(daemon, "batchweave_generations_total") >= 2);
    }
  }

  @Test
  void shouldSayWhatItWaitsForUntilTheStreamExists() {
    try (Daemon daemon = Daemon.launch(context());
        TestRank rank = rank(ALONE, 0)) {
      rank.beBorn();
      assertEquals(Kind.RETRYABLE, awaitNotYet(rank, Bytes.EMPTY, "not a stream").kind());
      try (TestStream stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES)) {
        stream.add(1);
        assertInstanceOf(Answer.Welcome.class, rank.sayHello("", Bytes.EMPTY, SOON_NS));
        rank.settle();
        assertEquals(0, rank.step(SOON_NS).step());
      }
      assertEquals(1, metric(daemon, "batchweave_attaches_total"));
      lines.removeIf(line -> line.contains("not a stream"));
    }
  }
}
