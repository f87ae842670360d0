package io.batchweave.bridge.ring;

import io.batchweave.bridge.memory.FutexWaiter;
import io.batchweave.bridge.memory.NativeMemory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A {@link RingMachine} with its files: carries out what concerns control and reader files, hands
 * on what concerns fetches and answers, and shows the machine what ranks wrote. One daemon thread
 * owns it.
 *
 * <p>After each event given to {@link #machine} call {@link #drain}; {@link #poll} does so itself.
 */
public final class RingFiles implements AutoCloseable {
  /** Takes what the files cannot do; called from {@link #drain}, may give the machine events. */
  public interface Handler {
    /** Start a fetch; write the region's table before it is reported complete. */
    void onFetch(RingCommand.Fetch fetch);

    /** Cancel a fetch; its end is still to be reported. */
    void onCancel(RingCommand.Cancel cancel);

    /**
     * Answer a rank.
     *
     * @param welcome who, and where it begins
     * @param control the generation's control file: name, length, header
     */
    void onWelcome(RingCommand.Welcome welcome, ControlFile control);

    /** Answer a rank. */
    void onRefuse(RingCommand.Refuse refuse);

    /** The manifest version that is a session's view, for the header; 0 when none is registered. */
    long viewVersion(SessionKey session);
  }

  /** What opening a rank's reader file came to. */
  public enum ReaderCheck {
    /** It is there, of this ABI, and its lock is seen. */
    GOOD,
    /** There is no such file. */
    MISSING,
    /** The lock is not seen: the rank is gone, or lives in a sandbox that hides it. */
    LOCK_NOT_VISIBLE
  }

  /** How often the locks of ranks are looked at. */
  public static final long PROBE_INTERVAL_NS = 5_000_000;

  private final NativeMemory memory;
  private final Path directory;
  private final RingSettings settings;
  private final int fileMode;
  private final RingData data;
  private final Supplier<Id128> ids;
  private final Handler handler;
  private final RingMachine machine;
  private final FutexWaiter waiter;
  private final Map<Id128, ReaderFile> readers = new HashMap<>();
  private final Map<Long, ControlFile> controls = new HashMap<>();
  private @Nullable ControlFile newest;
  private String trouble = "";
  private long nowNs;
  private long probeAtNs = Long.MIN_VALUE;

  /**
   * Creates one over a data file that exists.
   *
   * @param memory the system
   * @param data the ring's data file, mapped for writing; stays the caller's
   * @param settings what does not change
   * @param fileMode permission bits of control files
   * @param ids 128 random bits each
   * @param handler takes fetches and answers
   */
  public RingFiles(
      NativeMemory memory,
      RingData data,
      RingSettings settings,
      int fileMode,
      Supplier<Id128> ids,
      Handler handler) {
    this.memory = memory;
    this.directory = Objects.requireNonNull(data.path().toAbsolutePath().getParent());
    this.settings = settings;
    this.fileMode = fileMode;
    this.data = data;
    this.ids = ids;
    this.handler = handler;
    this.machine = new RingMachine(settings, lastGeneration());
    this.waiter = memory.newWaiter();
  }

  private long lastGeneration() {
    long last = 0;
    try (var files = Files.newDirectoryStream(directory, "ring-*.ctl")) {
      for (Path file : files) {
        if (RingAbi.ringOfControlName(file) == settings.ringNumber()) {
          last = Math.max(last, RingAbi.generationOfControlName(file));
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return last;
  }

  /** The ring's decisions; give it events, then {@link #drain}. */
  public RingMachine machine() {
    return machine;
  }

  /** The ring's data file. */
  public RingData data() {
    return data;
  }

  /**
   * Opens the reader file of a rank that said Hello and looks at its lock; the same rank again is
   * looked at again.
   *
   * @param reader from Hello
   */
  public ReaderCheck openReader(Id128 reader) {
    ReaderFile file = readers.get(reader);
    if (file == null) {
      file = ReaderFile.open(memory, directory, reader);
      if (file == null) {
        return ReaderCheck.MISSING;
      }
      readers.put(reader, file);
    }
    if (!file.isLocked()) {
      forget(reader);
      return ReaderCheck.LOCK_NOT_VISIBLE;
    }
    return ReaderCheck.GOOD;
  }

  private void forget(Id128 reader) {
    if (!machine.readers().contains(reader)) {
      ReaderFile file = readers.remove(reader);
      if (file != null) {
        file.close();
      }
    }
  }

  /** An opened reader file, for people: who it is, what it waits for. */
  public @Nullable ReaderFile reader(Id128 reader) {
    return readers.get(reader);
  }

  /** The control file of the newest generation; null before the first. */
  public @Nullable ControlFile control() {
    return newest;
  }

  /**
   * Says the last retryable trouble, which ranks quote when their deadline passes.
   *
   * @param text one line; empty when there is none
   */
  public void trouble(String text) {
    trouble = text;
  }

  /**
   * Looks at every rank: its lock now and then, what it wrote each time; then carries out whatever
   * follows, and stores the status.
   *
   * @param timeNs the time
   */
  public void poll(long timeNs) {
    nowNs = timeNs;
    boolean probe = timeNs - probeAtNs >= 0 || probeAtNs == Long.MIN_VALUE;
    if (probe) {
      probeAtNs = timeNs + PROBE_INTERVAL_NS;
      for (Map.Entry<Id128, ReaderFile> entry : List.copyOf(readers.entrySet())) {
        if (!entry.getValue().isLocked()) {
          machine.onReaderGone(entry.getKey(), timeNs);
        }
      }
    }
    for (Map.Entry<Id128, ReaderFile> entry : readers.entrySet()) {
      machine.onReader(entry.getKey(), entry.getValue());
    }
    machine.onTime(timeNs);
    drain(timeNs);
    ControlFile control = newest;
    if (control != null) {
      control.status(machine.status(trouble));
    }
  }

  /**
   * Carries out what the machine wants done.
   *
   * @param timeNs the time
   */
  public void drain(long timeNs) {
    nowNs = timeNs;
    machine.drain(this::carryOut);
  }

  private void carryOut(RingCommand command) {
    switch (command) {
      case RingCommand.Create create -> create(create);
      case RingCommand.Allocate allocate -> current().allocate(allocate.n(), allocate.region());
      case RingCommand.Open open -> current().open();
      case RingCommand.Publish publish ->
          current().publish(publish.n(), publish.kind(), publish.reason(), publish.text());
      case RingCommand.Close close -> {
        current().closeGeneration(close.reason());
        machine.onClosed(this::view, nowNs);
      }
      case RingCommand.DropControl drop -> dropControl(drop.generation());
      case RingCommand.DropReader drop -> {
        ReaderFile file = readers.remove(drop.reader());
        if (file != null) {
          file.unlink();
          file.close();
        }
      }
      case RingCommand.Welcome welcome -> {
        ReaderFile file = readers.get(welcome.reader());
        if (file != null) {
          file.expect(current().header());
          handler.onWelcome(welcome, current());
        }
      }
      case RingCommand.Refuse refuse -> handler.onRefuse(refuse);
      case RingCommand.Fetch fetch -> handler.onFetch(fetch);
      case RingCommand.Cancel cancel -> handler.onCancel(cancel);
    }
  }

  private ControlFile current() {
    return Objects.requireNonNull(newest);
  }

  private ReaderView view(Id128 reader) {
    ReaderFile file = readers.get(reader);
    return file == null ? ReaderView.GONE : file;
  }

  private void create(RingCommand.Create create) {
    SessionKey session = create.session();
    GenerationHeader header =
        new GenerationHeader(
            new GenerationHeader.RingFile(
                settings.ringNumber(),
                settings.ringLengthBytes(),
                data.identity().inode(),
                settings.pageSizeBytes()),
            create.generation(),
            ids.get(),
            create.firstStep(),
            settings.descriptorCount(),
            settings.hold(),
            new GenerationHeader.SessionHeader(
                session.streamId(),
                session.group(),
                session.session(),
                handler.viewVersion(session),
                session.dpSize(),
                session.cpSize(),
                create.localReaders()),
            create.coordinates());
    ControlFile control = ControlFile.create(memory, directory, header, fileMode, waiter);
    controls.put(create.generation(), control);
    newest = control;
  }

  private void dropControl(long generation) {
    ControlFile control = controls.remove(generation);
    if (control != null) {
      control.unlink();
      control.close();
    }
  }

  /** Closes every file; the caller has ended the machine before, or is about to end anyway. */
  @Override
  public void close() {
    readers.values().forEach(ReaderFile::close);
    readers.clear();
    controls.values().forEach(ControlFile::close);
    controls.clear();
    newest = null;
    waiter.close();
  }
}
