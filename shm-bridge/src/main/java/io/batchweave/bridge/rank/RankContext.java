package io.batchweave.bridge.rank;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.memory.NativeMemory;
import java.nio.file.Path;
import org.agrona.concurrent.NanoClock;
import org.agrona.concurrent.SystemNanoClock;
import org.jspecify.annotations.Nullable;

/** Configures a {@link RankClient}; what has no default must be set. */
public final class RankContext {
  private @Nullable Path directory;
  private @Nullable RankIdentity identity;
  private @Nullable Attacher attacher;
  private NativeMemory memory = NativeMemory.system();
  private NanoClock clock = SystemNanoClock.INSTANCE;
  private long nextStep = Attacher.NO_STEP;
  private boolean concluded;

  /** The daemon directory. */
  public RankContext directory(Path value) {
    directory = value;
    return this;
  }

  /** Which rank this is. */
  public RankContext identity(RankIdentity value) {
    identity = value;
    return this;
  }

  /** How Hello is said; closed with the client. */
  public RankContext attacher(Attacher value) {
    attacher = value;
    return this;
  }

  /** The system; this machine's by default. */
  public RankContext memory(NativeMemory value) {
    memory = value;
    return this;
  }

  /** Monotonic time; the system's by default. */
  public RankContext clock(NanoClock value) {
    clock = value;
    return this;
  }

  /** The step to begin at; by default where the token or the session says. */
  public RankContext nextStep(long value) {
    nextStep = value;
    return this;
  }

  /** Checks that everything is there; a context serves one client. */
  void conclude() {
    if (concluded) {
      throw new IllegalStateException("a context configures one client only");
    }
    concluded = true;
    directory();
    identity();
    attacher();
  }

  Path directory() {
    return required(directory, "directory");
  }

  RankIdentity identity() {
    return required(identity, "identity");
  }

  Attacher attacher() {
    return required(attacher, "attacher");
  }

  NativeMemory memory() {
    return memory;
  }

  NanoClock clock() {
    return clock;
  }

  long nextStep() {
    return nextStep;
  }

  private static <T> T required(@Nullable T value, String name) {
    if (value == null) {
      throw new BatchWeaveException(Kind.CONFIG, "not set: RankContext." + name);
    }
    return value;
  }
}
