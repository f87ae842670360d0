package io.batchweave.bridge.rank;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.memory.FileAccess;
import io.batchweave.bridge.memory.FutexWaiter;
import io.batchweave.bridge.memory.LockProbe;
import io.batchweave.bridge.memory.LockedMapping;
import io.batchweave.bridge.memory.Mapping;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.NativeMemoryException;
import io.batchweave.bridge.memory.Protection;
import io.batchweave.bridge.memory.SharedFile;
import io.batchweave.bridge.ring.Attachment;
import io.batchweave.bridge.ring.CloseReason;
import io.batchweave.bridge.ring.ControlDescriptor;
import io.batchweave.bridge.ring.Coordinate;
import io.batchweave.bridge.ring.Doorbell;
import io.batchweave.bridge.ring.FailReason;
import io.batchweave.bridge.ring.GenerationHeader;
import io.batchweave.bridge.ring.Id128;
import io.batchweave.bridge.ring.ReaderDescriptor;
import io.batchweave.bridge.ring.ReaderHeader;
import io.batchweave.bridge.ring.RingAbi;
import io.batchweave.bridge.ring.RingData;
import io.batchweave.bridge.ring.RingStatus;
import io.batchweave.bridge.ring.TableDescriptor;
import io.batchweave.format.Grid;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.nio.file.Path;
import org.agrona.concurrent.NanoClock;
import org.jspecify.annotations.Nullable;

/**
 * One attachment of a rank: its reader file, which carries its lock, and the generation that it
 * reads. Takes steps in order, releases them in any. Belongs to one platform thread.
 *
 * <p>Life: {@link #create}, say Hello, {@link #attach}, {@link #take} until it says CLOSED or
 * DAEMON_GONE, {@link #close}: with leases left the files stay mapped and the lock held until the
 * last one is released.
 */
public final class RankRing implements AutoCloseable {
  /** The longest sleep before the state word, the daemon's lock and the deadline are looked at. */
  public static final long MAX_WAIT_NS = 100_000_000;

  private static final int SPINS = 200;

  private final NativeMemory memory;
  private final Path directory;
  private final NanoClock clock;
  private final ReaderHeader self;
  private final LockedMapping reader;
  private final MemorySegment readerSegment;
  private final FutexWaiter waiter;
  private @Nullable Mapping controlMapping;
  private @Nullable RingData dataFile;
  private @Nullable Doorbell doorbell;
  private @Nullable LockProbe daemonLock;
  private MemorySegment control = MemorySegment.NULL;
  private MemorySegment data = MemorySegment.NULL;
  private StepLease[] leases = {};
  private String dataName = "";
  private long ringLengthBytes;
  private int pageSizeBytes;
  private int descriptorCount;
  private int hold;
  private int ownSliceCount;
  private long nextN;
  private long nextStep;
  private long lowestHeldN;
  private int heldCount;
  private int stateWord;
  private int failReason;
  private @Nullable StepLease lease;
  private boolean closing;
  private boolean closed;
  private Runnable onClosedDown = () -> {};

  private RankRing(
      NativeMemory memory,
      Path directory,
      NanoClock clock,
      ReaderHeader self,
      LockedMapping reader) {
    this.memory = memory;
    this.directory = directory;
    this.clock = clock;
    this.self = self;
    this.reader = reader;
    this.readerSegment = reader.mapping().segment();
    this.waiter = memory.newWaiter();
  }

  /**
   * Makes the reader file of a new attachment and takes its lock.
   *
   * @param memory the system
   * @param directory the daemon directory
   * @param header what the rank says of itself; its id is random
   * @param mode permission bits of the file
   * @param clock monotonic time
   */
  public static RankRing create(
      NativeMemory memory, Path directory, ReaderHeader header, int mode, NanoClock clock) {
    Path path = directory.resolve(RingAbi.readerName(header.id()));
    LockedMapping reader = LockedMapping.create(memory, path, ReaderDescriptor.LENGTH, mode);
    ReaderDescriptor.writeHeader(reader.mapping().segment(), header);
    return new RankRing(memory, directory, clock, header, reader);
  }

  /**
   * Maps what Welcome named and says so in the reader file.
   *
   * @param attached from Welcome
   * @param known the data file as an earlier attachment mapped it; used again if it is the same
   * @return false when the files are gone already, or the generation is another or closed: attach
   *     anew, with all reader files so far, since the daemon that closed it may not know this one
   * @throws BatchWeaveException CORRUPT or TOO_NEW when they cannot be what the daemon wrote
   */
  public boolean attach(Attacher.Attached attached, @Nullable RingData known) {
    try {
      daemonLock = LockProbe.open(memory, directory.resolve(RingAbi.DAEMON_LOCK_NAME));
      doorbell = Doorbell.open(memory, directory);
      Path path = directory.resolve(attached.controlFile());
      try (SharedFile file = memory.open(path, FileAccess.READ)) {
        controlMapping = file.map(Math.max(1, file.lengthBytes()), Protection.READ);
      }
      control = controlMapping.segment();
      if (ControlDescriptor.stateOf(ControlDescriptor.stateLoadAcquire(control))
          == ControlDescriptor.STATE_NEW) {
        return false;
      }
      // SYNC POINT: generation-open
      GenerationHeader header = ControlDescriptor.readHeader(path.toString(), control);
      if (!header.generationId().equals(attached.generationId())) {
        return false;
      }
      openData(attached.dataFile(), header, known);
      prepare(attached, header);
      // SYNC POINT: taken-or-closed
      VarHandle.fullFence();
      return !isClosed();
    } catch (NativeMemoryException e) {
      if (e.isMissing()) {
        return false;
      }
      throw e;
    }
  }

  private void openData(String name, GenerationHeader header, @Nullable RingData known) {
    Path path = directory.resolve(name);
    RingData opened =
        known != null && known.identity().equals(memory.identity(path))
            ? known
            : RingData.open(memory, path, header.ring().lengthBytes(), Protection.READ);
    dataFile = opened;
    data = opened.mapping().segment();
    dataName = path.toString();
    if (opened.identity().inode() != header.ring().inode()) {
      throw new BatchWeaveException(
          Kind.CORRUPT,
          "the data file is not the one that the control file describes: file="
              + path
              + " inode="
              + opened.identity().inode()
              + " expected="
              + header.ring().inode());
    }
  }

  private void prepare(Attacher.Attached attached, GenerationHeader header) {
    Grid grid = attached.grid();
    if (grid.dp() % self.dpSize() != 0 || grid.cp() != self.cpSize()) {
      throw new BatchWeaveException(
          Kind.CORRUPT,
          "the daemon took a rank whose job does not fit the stream: stream="
              + grid.dp()
              + "x"
              + grid.cp()
              + " job="
              + self.dpSize()
              + "x"
              + self.cpSize());
    }
    ownSliceCount = grid.dp() / self.dpSize();
    ringLengthBytes = header.ring().lengthBytes();
    pageSizeBytes = header.ring().pageSizeBytes();
    descriptorCount = header.descriptorCount();
    hold = header.hold();
    nextN = attached.firstN();
    nextStep = attached.firstStep();
    lowestHeldN = nextN;
    leases = new StepLease[descriptorCount];
    for (int i = 0; i < descriptorCount; i++) {
      leases[i] = new StepLease(this);
    }
    ReaderDescriptor.attachRelease(
        readerSegment,
        new Attachment(header.ring().number(), header.generation(), header.generationId(), nextN));
  }

  /** The 128 bits of the reader file's name. */
  public Id128 id() {
    return self.id();
  }

  /** The mapped data file, for the next attachment; null before {@link #attach}. */
  public @Nullable RingData dataFile() {
    return dataFile;
  }

  MemorySegment data() {
    return data;
  }

  int ownSliceCount() {
    return ownSliceCount;
  }

  Coordinate coordinate() {
    return self.coordinate();
  }

  /** The step after the last one taken. */
  public long nextStep() {
    return nextStep;
  }

  /** Steps taken here and not released. */
  public int heldCount() {
    return heldCount;
  }

  /** The step that {@link #take} just leased. */
  public StepLease lease() {
    StepLease taken = lease;
    if (taken == null) {
      throw new IllegalStateException("no step was taken");
    }
    return taken;
  }

  /** Why the generation is closed, after CLOSED. */
  public CloseReason closeReason() {
    return ControlDescriptor.reasonOf(stateWord);
  }

  /** Why the step can never be served, after FAILED. */
  public FailReason failReason() {
    return FailReason.of(failReason);
  }

  /** What the daemon says about it, after FAILED. */
  public String failureText() {
    return ControlDescriptor.loadFailure(control);
  }

  /** How the ring stands, for messages. */
  public RingStatus status() {
    return ControlDescriptor.loadStatus(control);
  }

  /**
   * Takes the next step, waiting for it if need be. Allocates nothing when it is there.
   *
   * @param deadlineNs when to give up, on the clock of this attachment
   */
  public TakeOutcome take(long deadlineNs) {
    long descriptor = ControlDescriptor.descriptorOffset(nextN, descriptorCount);
    if (!isReady(descriptor)) {
      TakeOutcome waited = await(descriptor, deadlineNs);
      if (waited != TakeOutcome.STEP) {
        return waited;
      }
    }
    ReaderDescriptor.takenStoreRelease(readerSegment, nextN + 1);
    // SYNC POINT: taken-or-closed
    VarHandle.fullFence();
    if (isClosed()) {
      ReaderDescriptor.takenStoreRelease(readerSegment, nextN);
      return TakeOutcome.CLOSED;
    }
    int kind = ControlDescriptor.kindLoadPlain(control, descriptor);
    if (kind == ControlDescriptor.KIND_READY) {
      return takeReady(descriptor);
    }
    ReaderDescriptor.takenStoreRelease(readerSegment, nextN);
    if (kind == ControlDescriptor.KIND_END) {
      return TakeOutcome.END;
    }
    if (kind != ControlDescriptor.KIND_FAILED) {
      throw corrupt("descriptor kind", kind);
    }
    failReason = ControlDescriptor.reasonLoadPlain(control, descriptor);
    return TakeOutcome.FAILED;
  }

  private boolean isReady(long descriptor) {
    // SYNC POINT: slot-ready
    long seq = ControlDescriptor.seqLoadAcquire(control, descriptor);
    if (seq > RingAbi.seqPublished(nextN)) {
      throw corrupt("descriptor seq", seq);
    }
    return seq == RingAbi.seqPublished(nextN);
  }

  private boolean isClosed() {
    stateWord = ControlDescriptor.stateLoadAcquire(control);
    return ControlDescriptor.stateOf(stateWord) != ControlDescriptor.STATE_OPEN;
  }

  private TakeOutcome await(long descriptor, long deadlineNs) {
    ReaderDescriptor.waitingStoreRelease(readerSegment, nextN + 1);
    try {
      for (int i = 0; i < SPINS; i++) {
        if (isReady(descriptor)) {
          return TakeOutcome.STEP;
        }
        Thread.onSpinWait();
      }
      while (true) {
        // SYNC POINT: wake
        int word = ControlDescriptor.wakeLoadAcquire(control);
        if (isReady(descriptor)) {
          return TakeOutcome.STEP;
        }
        if (isClosed()) {
          return TakeOutcome.CLOSED;
        }
        if (isDaemonGone()) {
          return TakeOutcome.DAEMON_GONE;
        }
        if (isHeldByMe()) {
          return TakeOutcome.RING_HELD;
        }
        long leftNs = deadlineNs - clock.nanoTime();
        if (leftNs <= 0) {
          return TakeOutcome.TIMEOUT;
        }
        waiter.await(control, ControlDescriptor.WAKE_OFFSET, word, Math.min(leftNs, MAX_WAIT_NS));
      }
    } finally {
      ReaderDescriptor.waitingStoreRelease(readerSegment, 0);
    }
  }

  private boolean isDaemonGone() {
    LockProbe probe = daemonLock;
    return probe == null || !probe.isLocked();
  }

  private boolean isHeldByMe() {
    long unreleased = nextN - lowestHeldN;
    return unreleased > hold
        && ControlDescriptor.blockedBytesLoadAcquire(control) > 0
        && status().isHeldBy(self.id(), nextStep, unreleased, hold);
  }

  private TakeOutcome takeReady(long descriptor) {
    long step = ControlDescriptor.stepLoadPlain(control, descriptor);
    long stepAfter = ControlDescriptor.nextStepLoadPlain(control, descriptor);
    long offset = ControlDescriptor.regionOffsetLoadPlain(control, descriptor);
    long length = ControlDescriptor.regionLengthLoadPlain(control, descriptor);
    if (step != nextStep) {
      throw corrupt("descriptor step", step);
    }
    if (stepAfter <= step) {
      throw corrupt("descriptor next step", stepAfter);
    }
    if (offset < 0 || offset > ringLengthBytes || offset % pageSizeBytes != 0) {
      throw corrupt("descriptor offset", offset);
    }
    if (length <= 0 || length > ringLengthBytes - offset || length % pageSizeBytes != 0) {
      throw corrupt("descriptor length", length);
    }
    int slices = TableDescriptor.check(dataName, data, offset, length, step);
    StepLease taken = leases[(int) (nextN & (descriptorCount - 1))];
    if (taken.isHeld()) {
      throw corrupt("descriptor reused under a lease, n", nextN);
    }
    taken.take(nextN, step, stepAfter, offset, length, slices);
    lease = taken;
    heldCount++;
    nextN++;
    nextStep = stepAfter;
    return TakeOutcome.STEP;
  }

  private BatchWeaveException corrupt(String field, long value) {
    return new BatchWeaveException(
        Kind.CORRUPT,
        "the control file cannot be what a daemon writes: field=\""
            + field
            + "\" value="
            + value
            + " n="
            + nextN
            + " step="
            + nextStep
            + " reader="
            + self.id());
  }

  void release(StepLease released) {
    ReaderDescriptor.ackStoreRelease(readerSegment, released.n(), descriptorCount);
    ring();
    heldCount--;
    while (lowestHeldN < nextN && !leases[(int) (lowestHeldN & (descriptorCount - 1))].isHeld()) {
      lowestHeldN++;
    }
    if (closing && heldCount == 0) {
      unmap();
    }
  }

  private void ring() {
    Doorbell bell = doorbell;
    if (bell != null) {
      bell.ring(waiter);
    }
  }

  /**
   * Takes nothing more. Without leases the lock goes at once, otherwise with the last release; the
   * data file stays the caller's to close, after that.
   */
  @Override
  public void close() {
    closing = true;
    if (heldCount == 0) {
      unmap();
    }
  }

  /** Says what to do once {@link #isClosedDown}. */
  void onClosedDown(Runnable action) {
    onClosedDown = action;
  }

  /** Whether the lock is given back and nothing but the data file is mapped. */
  public boolean isClosedDown() {
    return closed;
  }

  private void unmap() {
    if (closed) {
      return;
    }
    closed = true;
    reader.close();
    ring();
    if (controlMapping != null) {
      controlMapping.close();
    }
    if (doorbell != null) {
      doorbell.close();
    }
    if (daemonLock != null) {
      daemonLock.close();
    }
    waiter.close();
    onClosedDown.run();
  }
}
