package io.batchweave.bridge.daemon;

import io.batchweave.Bytes;
import io.batchweave.bridge.handshake.Answer;
import io.batchweave.bridge.handshake.ClientKind;
import io.batchweave.bridge.handshake.HandshakeClient;
import io.batchweave.bridge.handshake.Hello;
import io.batchweave.bridge.memory.FileAccess;
import io.batchweave.bridge.memory.FutexWaiter;
import io.batchweave.bridge.memory.LockedMapping;
import io.batchweave.bridge.memory.Mapping;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.Protection;
import io.batchweave.bridge.memory.SharedFile;
import io.batchweave.bridge.ring.Attachment;
import io.batchweave.bridge.ring.CloseReason;
import io.batchweave.bridge.ring.ControlDescriptor;
import io.batchweave.bridge.ring.Coordinate;
import io.batchweave.bridge.ring.DoorbellDescriptor;
import io.batchweave.bridge.ring.FailReason;
import io.batchweave.bridge.ring.GenerationHeader;
import io.batchweave.bridge.ring.Id128;
import io.batchweave.bridge.ring.ReaderDescriptor;
import io.batchweave.bridge.ring.ReaderHeader;
import io.batchweave.bridge.ring.RingAbi;
import io.batchweave.bridge.ring.TableDescriptor;
import io.batchweave.format.Block;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.file.Path;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.SystemNanoClock;
import org.jspecify.annotations.Nullable;

/**
 * A rank written down from native-include/README.md, one method per move, so that tests can stop it
 * between any two of them.
 */
final class TestRank implements AutoCloseable {
  static final SystemNanoClock CLOCK = SystemNanoClock.INSTANCE;
  static final NativeMemory MEMORY = NativeMemory.system();
  private static final long WAIT_NS = TimeUnit.MILLISECONDS.toNanos(100);

  /** Who it is. */
  record Identity(
      Path directory, String stream, String group, String session, Hello.RankShape shape) {}

  /** What a look for the next step found. */
  sealed interface Take {
    /** The step, held until released. */
    record Ready(long step, long n, long offset, long lengthBytes) implements Take {}

    /** The generation was closed. */
    record Closed(CloseReason reason) implements Take {}

    /** The step failed. */
    record Failed(FailReason reason, String text) implements Take {}

    /** The stream ends here. */
    record End(long step) implements Take {}

    /** The time has passed. */
    record Late(String trouble) implements Take {}
  }

  private final Identity identity;
  private final FutexWaiter waiter = MEMORY.newWaiter();
  private @Nullable LockedMapping reader;
  private @Nullable Mapping control;
  private @Nullable Mapping data;
  private @Nullable Mapping doorbell;
  private Id128 readerId = Id128.NONE;
  private int descriptorCount;
  private long nextN;
  private long nextStep;
  private Answer.@Nullable Welcome welcome;

  TestRank(Identity identity, long nextStep) {
    this.identity = identity;
    this.nextStep = nextStep;
  }

  /** Creates the reader file and holds its lock. */
  void beBorn() {
    UUID id = UUID.randomUUID();
    readerId = new Id128(id.getMostSignificantBits(), id.getLeastSignificantBits());
    LockedMapping born =
        LockedMapping.create(
            MEMORY,
            identity.directory().resolve(RingAbi.readerName(readerId)),
            ReaderDescriptor.LENGTH,
            0600);
    Hello.RankShape shape = identity.shape();
    ReaderDescriptor.writeHeader(
        born.mapping().segment(),
        new ReaderHeader(
            readerId,
            Id128.NONE,
            (int) ProcessHandle.current().pid(),
            -1,
            new Coordinate(shape.dp(), shape.cp()),
            shape.dpSize(),
            shape.cpSize(),
            shape.localReaders()));
    reader = born;
  }

  /** Says Hello until it is decided. */
  Answer sayHello(String previousFile, Bytes token, long timeoutNs) {
    Hello hello =
        new Hello(
            0,
            0,
            RingAbi.VERSION,
            identity.stream(),
            identity.group(),
            identity.session(),
            identity.shape(),
            nextStep,
            welcome == null ? 0 : welcome.start().viewVersion(),
            Block.Takeover.SUPERSEDE,
            new Hello.Sender(
                identity.shape().dp(), (int) ProcessHandle.current().pid(), ClientKind.JAVA),
            RingAbi.readerName(readerId),
            previousFile,
            token);
    Answer answer =
        new HandshakeClient(MEMORY, identity.directory(), CLOCK)
            .ask(hello, CLOCK.nanoTime() + timeoutNs);
    if (answer instanceof Answer.Welcome welcomed) {
      welcome = welcomed;
    }
    return answer;
  }

  /** Maps what Welcome names and says so in the reader file. */
  void settle() {
    Answer.Welcome welcomed = require(welcome);
    control = map(welcomed.controlFile(), welcomed.controlSizeBytes(), Protection.READ);
    data = map(welcomed.dataFile(), welcomed.dataSizeBytes(), Protection.READ);
    doorbell = map(RingAbi.DOORBELL_NAME, DoorbellDescriptor.LENGTH, Protection.READ_WRITE);
    GenerationHeader header =
        ControlDescriptor.readHeader(welcomed.controlFile(), control.segment());
    Id128 generation =
        new Id128(
            welcomed.generation().getMostSignificantBits(),
            welcomed.generation().getLeastSignificantBits());
    if (!header.generationId().equals(generation)) {
      throw new IllegalStateException("another generation: " + header + " " + welcomed);
    }
    descriptorCount = header.descriptorCount();
    nextN = welcomed.start().index();
    nextStep = welcomed.start().step();
    ReaderDescriptor.attachRelease(
        require(reader).mapping().segment(),
        new Attachment(welcomed.ring(), header.generation(), generation, nextN));
  }

  private Mapping map(String name, long lengthBytes, Protection protection) {
    FileAccess access = protection == Protection.READ ? FileAccess.READ : FileAccess.READ_WRITE;
    try (SharedFile file = MEMORY.open(identity.directory().resolve(name), access)) {
      return file.map(lengthBytes, protection);
    }
  }

  /** All of it: born, welcomed, settled. */
  TestRank attach(long timeoutNs) {
    beBorn();
    Answer answer = sayHello("", Bytes.EMPTY, timeoutNs);
    if (!(answer instanceof Answer.Welcome)) {
      throw new IllegalStateException("not welcome: " + answer);
    }
    settle();
    return this;
  }

  /** The same rank with a new file, after CLOSED; leases in the old one are given up. */
  void attachAgain(long timeoutNs) {
    String previous = RingAbi.readerName(readerId);
    LockedMapping old = require(reader);
    unmap();
    beBorn();
    Answer answer = sayHello(previous, Bytes.EMPTY, timeoutNs);
    if (!(answer instanceof Answer.Welcome)) {
      throw new IllegalStateException("not welcome: " + answer);
    }
    settle();
    old.close();
  }

  long nextStep() {
    return nextStep;
  }

  Answer.Welcome welcome() {
    return require(welcome);
  }

  /** Why the generation was closed; null while it is not. */
  @Nullable CloseReason closedReason() {
    int state = ControlDescriptor.stateLoadAcquire(require(control).segment());
    return ControlDescriptor.stateOf(state) == ControlDescriptor.STATE_CLOSED
        ? ControlDescriptor.reasonOf(state)
        : null;
  }

  /** Waits for the next step. */
  Take take(long timeoutNs) {
    long deadlineNs = CLOCK.nanoTime() + timeoutNs;
    var ctl = require(control).segment();
    var own = require(reader).mapping().segment();
    long at = ControlDescriptor.descriptorOffset(nextN, descriptorCount);
    long published = RingAbi.seqPublished(nextN);
    ReaderDescriptor.waitingStoreRelease(own, nextN + 1);
    while (true) {
      int word = ControlDescriptor.wakeLoadAcquire(ctl);
      // SYNC POINT: slot-ready
      long seq = ControlDescriptor.seqLoadAcquire(ctl, at);
      if (seq == published) {
        break;
      }
      if (seq > published) {
        throw new IllegalStateException("slot reused under a live reader: seq=" + seq);
      }
      int state = ControlDescriptor.stateLoadAcquire(ctl);
      if (ControlDescriptor.stateOf(state) != ControlDescriptor.STATE_OPEN) {
        return new Take.Closed(ControlDescriptor.reasonOf(state));
      }
      long left = deadlineNs - CLOCK.nanoTime();
      if (left <= 0) {
        return new Take.Late(ControlDescriptor.loadStatus(ctl).trouble());
      }
      waiter.await(ctl, ControlDescriptor.WAKE_OFFSET, word, Math.min(left, WAIT_NS));
    }
    ReaderDescriptor.waitingStoreRelease(own, 0);
    // SYNC POINT: taken-or-closed
    ReaderDescriptor.takenStoreRelease(own, nextN + 1);
    VarHandle.fullFence();
    int state = ControlDescriptor.stateLoadAcquire(ctl);
    if (ControlDescriptor.stateOf(state) != ControlDescriptor.STATE_OPEN) {
      ReaderDescriptor.takenStoreRelease(own, nextN);
      return new Take.Closed(ControlDescriptor.reasonOf(state));
    }
    long step = ControlDescriptor.stepLoadPlain(ctl, at);
    int kind = ControlDescriptor.kindLoadPlain(ctl, at);
    if (kind == ControlDescriptor.KIND_READY) {
      long offset = ControlDescriptor.regionOffsetLoadPlain(ctl, at);
      long length = ControlDescriptor.regionLengthLoadPlain(ctl, at);
      TableDescriptor.check("data", require(data).segment(), offset, length, step);
      nextStep = ControlDescriptor.nextStepLoadPlain(ctl, at);
      return new Take.Ready(step, nextN++, offset, length);
    }
    ReaderDescriptor.takenStoreRelease(own, nextN);
    return kind == ControlDescriptor.KIND_END
        ? new Take.End(step)
        : new Take.Failed(
            FailReason.of(ControlDescriptor.reasonLoadPlain(ctl, at)),
            ControlDescriptor.loadFailure(ctl));
  }

  /** The next step, or an error with what was found instead. */
  Take.Ready step(long timeoutNs) {
    Take take = take(timeoutNs);
    if (take instanceof Take.Ready ready) {
      return ready;
    }
    throw new IllegalStateException("no step: next=" + nextStep + " found=" + take);
  }

  /** A copy of one slice of a step that is held. */
  byte[] slice(Take.Ready ready, int dp, int cp) {
    var ring = require(data).segment();
    int count =
        TableDescriptor.check("data", ring, ready.offset(), ready.lengthBytes(), ready.step());
    for (int i = 0; i < count; i++) {
      long entry = ready.offset() + TableDescriptor.entryOffset(i);
      if (TableDescriptor.dp(ring, entry) == dp && TableDescriptor.cp(ring, entry) == cp) {
        return ring.asSlice(
                ready.offset() + TableDescriptor.sliceOffset(ring, entry),
                TableDescriptor.sliceLength(ring, entry))
            .toArray(ValueLayout.JAVA_BYTE);
      }
    }
    throw new IllegalStateException("no slice dp=" + dp + " cp=" + cp + " in " + ready);
  }

  /** Stores the ack and wakes nobody. */
  void releaseSilently(long n) {
    ReaderDescriptor.ackStoreRelease(require(reader).mapping().segment(), n, descriptorCount);
  }

  void release(Take.Ready ready) {
    releaseSilently(ready.n());
    DoorbellDescriptor.ringRelease(require(doorbell).segment());
    waiter.wakeAll(require(doorbell).segment(), DoorbellDescriptor.WORD_OFFSET);
  }

  private static <T> T require(@Nullable T value) {
    if (value == null) {
      throw new IllegalStateException("not attached");
    }
    return value;
  }

  private void unmap() {
    for (Mapping mapping : new Mapping[] {control, data, doorbell}) {
      if (mapping != null) {
        mapping.close();
      }
    }
  }

  @Override
  public void close() {
    unmap();
    LockedMapping own = reader;
    if (own != null) {
      own.close();
      reader = null;
    }
    waiter.close();
  }
}
