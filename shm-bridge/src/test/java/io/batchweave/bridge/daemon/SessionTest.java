package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.bridge.handshake.AeronAttacher;
import io.batchweave.bridge.handshake.Answer;
import io.batchweave.bridge.handshake.Hello;
import io.batchweave.bridge.handshake.RefusalCode;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.rank.Attacher;
import io.batchweave.bridge.rank.RankClient;
import io.batchweave.bridge.rank.RankContext;
import io.batchweave.bridge.rank.RankIdentity;
import io.batchweave.bridge.rank.StepLease;
import io.batchweave.bridge.ring.Coordinate;
import io.batchweave.client.Operator;
import io.batchweave.client.OperatorContext;
import io.batchweave.format.Block;
import io.batchweave.format.Block.Takeover;
import io.batchweave.format.Grid;
import io.batchweave.log.SessionState;
import io.batchweave.log.State;
import io.batchweave.read.Token;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Launches of training jobs as the log has them, seen by ranks of one node and of two. */
@Timeout(180)
class SessionTest extends DaemonFixture {
  private Path otherNode;
  private ObjectStore store;
  private Operator operator;
  private TestStream stream;

  @BeforeEach
  void createStream() throws IOException {
    otherNode = Files.createTempDirectory(Path.of("/dev/shm"), "bw-daemon-");
    stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES).add(30);
    store = Stores.open(url(), Map.of());
    operator = Operator.open(new OperatorContext().store(store));
  }

  @AfterEach
  void closeStream() throws IOException {
    operator.close();
    store.close();
    stream.close();
    try (var files = Files.list(otherNode)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        Files.delete(file);
      }
    }
    Files.delete(otherNode);
  }

  private Daemon otherDaemon() {
    return Daemon.launch(context().directory(otherNode));
  }

  private RankClient open(Path node, String session, Bytes token, Takeover takeover) {
    return RankClient.open(
        new RankContext()
            .directory(node)
            .identity(new RankIdentity(url(), "train", session, new Coordinate(0, 0), 1, 1, 1, 0))
            .attacher(new AeronAttacher(NativeMemory.system(), node, CLOCK, token, takeover)),
        SOON_NS);
  }

  private RankClient open(Path node, String session) {
    return open(node, session, Bytes.EMPTY, Takeover.SUPERSEDE);
  }

  private State head() {
    return operator.state();
  }

  private SessionState live() {
    return Objects.requireNonNull(head().group("train").session());
  }

  private void skip(long from, long to) {
    assertTrue(
        operator.propose(state -> new Block.Skip(from, to, state.lastSkipVersion())).accepted());
  }

  private Bytes token(long view, long step) {
    return new Token(stream.streamId(), view, step).encode();
  }

  private static long viewOf(RankClient rank) {
    Attacher.Attached attached = rank.attached();
    return attached == null ? -1 : attached.viewVersion();
  }

  /** Takes, checks and releases up to a step. */
  private List<Long> read(RankClient rank, long toStep) {
    List<Long> steps = new ArrayList<>();
    while (rank.nextStep() < toStep) {
      StepLease lease = Objects.requireNonNull(rank.next(SOON_NS));
      steps.add(lease.step());
      assertArrayEquals(
          stream.slice(lease.step(), 0, 0), lease.slice(0).toArray(ValueLayout.JAVA_BYTE));
      lease.release();
    }
    return steps;
  }

  private static Kind kindOf(Runnable call) {
    return assertThrows(BatchWeaveException.class, call::run).kind();
  }

  @Test
  void shouldGiveOneViewToRanksOfOneSessionOnTwoNodes() {
    try (Daemon here = Daemon.launch(context());
        Daemon there = otherDaemon();
        RankClient one = open(directory, "run-0");
        RankClient two = open(otherNode, "run-0")) {
      assertEquals(live().view(), viewOf(one));
      assertEquals(viewOf(one), viewOf(two));
      assertEquals(new SessionState("run-0", viewOf(one), 0, -1), live());
      assertNotNull(here);
      assertNotNull(there);
    }
  }

  /** E11: what a rank passes over is a matter of its session's view, not of what it has folded. */
  @Test
  void shouldPassOverTheSameStepsOnEveryNodeWhateverTheyHaveFolded() {
    skip(0, 2);
    skip(5, 8);
    skip(7, 10);
    try (Daemon here = Daemon.launch(context());
        RankClient one = open(directory, "run-0")) {
      assertEquals(2, one.nextStep());
      assertEquals(List.of(2L, 3L, 4L, 10L), read(one, 11));
      // Too late for this session; a node that opens the stream only now folds it as well.
      skip(12, 20);
      for (int i = 0; i < 150; i++) {
        stream.add(1); // past a snapshot
      }
      try (Daemon there = otherDaemon();
          RankClient two = open(otherNode, "run-0")) {
        List<Long> rest = read(one, 100);
        List<Long> all = read(two, 100);
        assertEquals(List.of(2L, 3L, 4L, 10L, 11L, 12L), all.subList(0, 6));
        assertEquals(rest, all.subList(4, all.size()));
        assertNotNull(there);
      }
      try (RankClient next = open(directory, "run-1", token(viewOf(one), 11), Takeover.SUPERSEDE)) {
        assertEquals(List.of(11L, 20L), read(next, 21));
        assertTrue(viewOf(next) > viewOf(one));
      }
      assertNotNull(here);
    }
  }

  /** U15: a rank that died on one node asks for its step on another. */
  @Test
  void shouldServeARankTheSameBytesWhenItComesBackOnAnotherNode() {
    try (Daemon here = Daemon.launch(context());
        Daemon there = otherDaemon()) {
      long view;
      try (RankClient rank = open(directory, "run-0")) {
        view = viewOf(rank);
        read(rank, 20);
      }
      RankContext again =
          new RankContext()
              .directory(otherNode)
              .identity(new RankIdentity(url(), "train", "run-0", new Coordinate(0, 0), 1, 1, 1, 0))
              .nextStep(20)
              .attacher(
                  new AeronAttacher(
                      NativeMemory.system(), otherNode, CLOCK, Bytes.EMPTY, Takeover.SUPERSEDE));
      try (RankClient rank = RankClient.open(again, SOON_NS)) {
        assertEquals(20, read(rank, 30).getFirst());
        assertEquals(view, viewOf(rank));
      }
      assertNotNull(here);
      assertNotNull(there);
    }
  }

  @Test
  void shouldRefuseATokenThatDisagreesWithTheSessionsStart() {
    try (Daemon here = Daemon.launch(context());
        Daemon there = otherDaemon();
        RankClient one = open(directory, "run-0", token(0, 7), Takeover.SUPERSEDE)) {
      assertEquals(7, one.nextStep());
      for (Path node : List.of(directory, otherNode)) {
        try (TestRank other = new TestRank(identity(node, "run-0"), Hello.NO_STEP)) {
          other.beBorn();
          Answer.Refused refused =
              assertInstanceOf(Answer.Refused.class, other.sayHello("", token(0, 8), SOON_NS));
          assertEquals(RefusalCode.START_DISAGREES, refused.code(), refused.text());
        }
      }
      assertNotNull(here);
      assertNotNull(there);
    }
  }

  private TestRank.Identity identity(Path node, String session) {
    return new TestRank.Identity(node, url(), "train", session, alone());
  }

  @Test
  void shouldRefuseToBeginBeyondTheHeadOrBelowTheHorizon() {
    try (Daemon here = Daemon.launch(context())) {
      assertEquals(
          Kind.CONFIG,
          kindOf(() -> open(directory, "run-0", token(0, 31), Takeover.SUPERSEDE).close()));
      assertNull(head().group("train").session());
      try (RankClient one = open(directory, "run-1", token(0, 20), Takeover.SUPERSEDE)) {
        assertTrue(operator.propose(state -> new Block.Reclaim(15, 0)).accepted());
        assertEquals(
            Kind.RECLAIMED,
            kindOf(() -> open(directory, "run-2", token(0, 14), Takeover.SUPERSEDE).close()));
        assertEquals(List.of(20L), read(one, 21));
      }
      assertNotNull(here);
    }
  }

  @Test
  void shouldTellRanksOfAnotherNodeThatANewerLaunchHasTakenOver() {
    try (Daemon here = Daemon.launch(context());
        Daemon there = otherDaemon();
        RankClient old = open(directory, "run-0")) {
      read(old, 3);
      try (RankClient young = open(otherNode, "run-1", token(0, 2), Takeover.SUPERSEDE)) {
        assertEquals(List.of(2L), read(young, 3));
        BatchWeaveException fenced =
            assertThrows(BatchWeaveException.class, () -> read(old, Long.MAX_VALUE));
        assertEquals(Kind.FENCED, fenced.kind(), fenced.getMessage());
        // It does not come back, on whatever node, by saying which session it was in.
        assertEquals("run-1", live().sessionId());
        assertEquals(List.of(3L), read(young, 4));
      }
      assertNotNull(here);
      assertNotNull(there);
    }
  }

  @Test
  void shouldRefuseASecondLaunchOnAnotherNodeThatDoesNotSupersede() {
    try (Daemon here = Daemon.launch(context());
        Daemon there = otherDaemon();
        RankClient one = open(directory, "run-0")) {
      assertEquals(
          Kind.FENCED,
          kindOf(() -> open(otherNode, "run-1", Bytes.EMPTY, Takeover.REFUSE).close()));
      assertEquals("run-0", live().sessionId());
      read(one, 2);
      assertNotNull(here);
      assertNotNull(there);
    }
  }

  @Test
  void shouldGoOnInItsSessionWhenTheDaemonIsReplaced() {
    Daemon first = Daemon.launch(context());
    RankClient rank = open(directory, "run-0");
    long view = viewOf(rank);
    read(rank, 4);
    skip(6, 9);
    first.close();
    try (Daemon second = Daemon.launch(context());
        rank) {
      assertEquals(List.of(4L, 5L, 6L, 7L), read(rank, 8));
      assertEquals(view, viewOf(rank));
      assertEquals(2, rank.attachments());
      assertNotNull(second);
    }
  }

  @Test
  void shouldNotRegisterAgainALaunchThatIsOver() {
    Daemon first = Daemon.launch(context());
    RankClient rank = open(directory, "run-0");
    read(rank, 4);
    first.close();
    operator.openSession("train", "run-1", 4, Takeover.SUPERSEDE);
    try (Daemon second = Daemon.launch(context());
        rank) {
      assertEquals(Kind.FENCED, kindOf(() -> read(rank, 5)));
      assertEquals("run-1", live().sessionId());
      assertNotNull(second);
    }
  }
}
