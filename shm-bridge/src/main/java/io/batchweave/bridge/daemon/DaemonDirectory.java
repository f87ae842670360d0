package io.batchweave.bridge.daemon;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.handshake.HandshakeProtocol;
import io.batchweave.bridge.memory.FileAccess;
import io.batchweave.bridge.memory.FutexWaiter;
import io.batchweave.bridge.memory.LockProbe;
import io.batchweave.bridge.memory.LockedMapping;
import io.batchweave.bridge.memory.Mapping;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.Protection;
import io.batchweave.bridge.memory.RingAllocation;
import io.batchweave.bridge.memory.SharedDirectory;
import io.batchweave.bridge.memory.SharedFile;
import io.batchweave.bridge.ring.CloseReason;
import io.batchweave.bridge.ring.ControlDescriptor;
import io.batchweave.bridge.ring.Id128;
import io.batchweave.bridge.ring.RingAbi;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The daemon directory, held by {@code daemon.lock} for as long as this is open. Opening removes
 * what the daemon before left behind: nobody cleans up by hand.
 */
final class DaemonDirectory implements AutoCloseable {
  private static final String DRAFT_NAME = RingAbi.DAEMON_JSON_NAME + ".new";
  private static final String SPARE_NAME = "spare";

  /** What a restart takes for a while: reader files, a control file, logs of the handshake. */
  private static final long SPARE_BYTES = 8L << 20;

  private final NativeMemory memory;
  private final Path path;
  private final LockedMapping lock;
  private final Set<Integer> heldRings = new HashSet<>();
  private final int fileMode;
  private final Consumer<String> lines;
  private Set<Id128> suspects = Set.of();
  private boolean published;

  private DaemonDirectory(
      NativeMemory memory, Path path, LockedMapping lock, int fileMode, Consumer<String> lines) {
    this.memory = memory;
    this.path = path;
    this.lock = lock;
    this.fileMode = fileMode;
    this.lines = lines;
  }

  /**
   * Takes the directory.
   *
   * @param memory the system
   * @param path absolute; created if absent
   * @param group that shares it, null: nobody; {@link SharedDirectory} says how
   * @param lines told what was removed, and what is left
   * @throws BatchWeaveException {@link Kind#CONFIG} when another daemon holds it, or it is not ours
   */
  static DaemonDirectory open(
      NativeMemory memory, Path path, @Nullable String group, Consumer<String> lines) {
    int fileMode =
        group == null ? SharedDirectory.ALONE_FILE_MODE : SharedDirectory.GROUP_FILE_MODE;
    try {
      SharedDirectory.create(path, group);
    } catch (IOException e) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "the daemon directory cannot be made or used: --dir=" + path + " reason=" + reasonOf(e),
          e);
    }
    LockedMapping lock =
        LockedMapping.open(
            memory, path.resolve(RingAbi.DAEMON_LOCK_NAME), RingAbi.DAEMON_LOCK_LENGTH, fileMode);
    if (lock == null) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "another daemon serves this directory: --dir="
              + path
              + "; one daemon serves any number of streams, or choose another --dir");
    }
    return new DaemonDirectory(memory, path, lock, fileMode, lines);
  }

  private static String reasonOf(IOException e) {
    if (e instanceof AccessDeniedException denied) {
      return "permission denied: path=" + denied.getFile();
    }
    if (e instanceof NoSuchFileException absent) {
      return "no directory can be made there: path=" + absent.getFile();
    }
    return e instanceof FileSystemException failed && failed.getReason() != null
        ? failed.getReason() + ": path=" + failed.getFile()
        : e.toString();
  }

  /**
   * Finds the rings that living ranks read and removes everything else that the daemon before left,
   * except for data files that can be used as they are.
   *
   * @param rings number of rings to be served
   * @param lengthBytes of each
   * @throws BatchWeaveException {@link Kind#CONFIG} when ranks hold a ring of another size
   */
  FoundRings clear(int rings, long lengthBytes) {
    FoundRings found = FoundRings.read(memory, path);
    try {
      heldRings.addAll(found.numbers());
      found.require(rings, lengthBytes);
      removeLeftovers(
          file ->
              found.needs(file)
                  || file.endsWith(RingAbi.DOORBELL_NAME)
                  || isReusable(file, rings, lengthBytes),
          lines);
      return found;
    } catch (RuntimeException e) {
      found.close();
      throw e;
    }
  }

  private boolean isReusable(Path file, int rings, long lengthBytes) {
    int ring = RingAbi.ringOfDataName(file);
    try {
      return ring >= 0
          && ring < rings
          && Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)
          && Files.size(file) == lengthBytes
          && SharedDirectory.fileMode(file) == fileMode;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The directory. */
  Path path() {
    return path;
  }

  /** Permission bits of its files. */
  int fileMode() {
    return fileMode;
  }

  /** A file in it. */
  Path file(String name) {
    return path.resolve(name);
  }

  private void removeLeftovers(Predicate<Path> stays, Consumer<String> told) {
    long removedBytes = 0;
    int removed = 0;
    try (Stream<Path> listed = Files.list(path)) {
      for (Path file : listed.toList()) {
        if (!isOurs(file)
            || stays.test(file)
            || (RingAbi.readerOfName(file) != null && isLocked(file))) {
          continue;
        }
        if (RingAbi.ringOfControlName(file) >= 0) {
          closeGeneration(file);
        }
        removedBytes += lengthOf(file);
        removed++;
        delete(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    if (removed > 0) {
      told.accept(
          "removed what an earlier daemon left: files=" + removed + " bytes=" + removedBytes);
    }
  }

  /**
   * Removes reader files of ranks that died before they said Hello: those that nobody knows and
   * whose lock was free at this look and at the one before.
   */
  void sweep(Predicate<Id128> isKnown) {
    Set<Id128> free = new HashSet<>();
    try (Stream<Path> listed = Files.list(path)) {
      for (Path file : (Iterable<Path>) listed::iterator) {
        Id128 id = RingAbi.readerOfName(file);
        if (id != null && !isKnown.test(id) && !isLocked(file)) {
          if (suspects.contains(id)) {
            Files.deleteIfExists(file);
          } else {
            free.add(id);
          }
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    suspects = free;
  }

  /** Whether a daemon made it; anything else in the directory is somebody's and stays. */
  private static boolean isOurs(Path file) {
    String name = String.valueOf(file.getFileName());
    return name.equals(RingAbi.DAEMON_JSON_NAME)
        || name.equals(DRAFT_NAME)
        || name.equals(SPARE_NAME)
        || name.equals(RingAbi.DOORBELL_NAME)
        || name.equals(HandshakeProtocol.AERON_DIRECTORY)
        || RingAbi.ringOfDataName(file) >= 0
        || RingAbi.ringOfControlName(file) >= 0
        || RingAbi.readerOfName(file) != null;
  }

  private boolean isLocked(Path file) {
    return isLocked(memory, file);
  }

  private static boolean isLocked(NativeMemory memory, Path file) {
    LockProbe probe = LockProbe.open(memory, file);
    if (probe == null) {
      return false;
    }
    try (probe) {
      return probe.isLocked();
    }
  }

  /**
   * Tells ranks that still wait on a generation of the daemon before: they would not notice that
   * its lock has changed hands.
   */
  private void closeGeneration(Path file) {
    try (SharedFile control = memory.open(file, FileAccess.READ_WRITE)) {
      if (control.lengthBytes() < ControlDescriptor.fileLength(RingAbi.MIN_DESCRIPTORS, 0)) {
        return;
      }
      try (Mapping mapping = control.map(control.lengthBytes(), Protection.READ_WRITE);
          FutexWaiter waker = memory.newWaiter()) {
        int state = ControlDescriptor.stateLoadAcquire(mapping.segment());
        if (ControlDescriptor.stateOf(state) == ControlDescriptor.STATE_CLOSED) {
          return;
        }
        ControlDescriptor.stateStoreRelease(
            mapping.segment(), ControlDescriptor.closedWord(CloseReason.DAEMON_RESTART));
        ControlDescriptor.wakeIncrementRelease(mapping.segment());
        waker.wakeAll(mapping.segment(), ControlDescriptor.WAKE_OFFSET);
      }
    }
  }

  private static long lengthOf(Path file) throws IOException {
    if (!Files.isDirectory(file, LinkOption.NOFOLLOW_LINKS)) {
      return Files.size(file);
    }
    long sum = 0;
    try (Stream<Path> tree = Files.walk(file)) {
      for (Path inside : (Iterable<Path>) tree::iterator) {
        if (Files.isRegularFile(inside, LinkOption.NOFOLLOW_LINKS)) {
          sum += Files.size(inside);
        }
      }
    }
    return sum;
  }

  private static void delete(Path file) throws IOException {
    if (Files.isDirectory(file, LinkOption.NOFOLLOW_LINKS)) {
      List<Path> inside = new ArrayList<>();
      try (Stream<Path> listed = Files.list(file)) {
        listed.forEach(inside::add);
      }
      for (Path path : inside) {
        delete(path);
      }
    }
    Files.deleteIfExists(file);
  }

  /** Where Aeron's driver lives. */
  Path aeronDirectory() {
    return path.resolve(HandshakeProtocol.AERON_DIRECTORY);
  }

  /** Replaces {@code daemon.json}. */
  void publish(String json) {
    Path target = path.resolve(RingAbi.DAEMON_JSON_NAME);
    Path draft = path.resolve(DRAFT_NAME);
    try {
      Files.deleteIfExists(draft); // and never through a link that somebody left there
      Files.writeString(draft, json, StandardCharsets.UTF_8, StandardOpenOption.CREATE_NEW);
      Files.move(
          draft, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
      published = true;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Keeps some memory for the next daemon, which gives it back first: a restart must work although
   * others took all that was free. Does nothing where little is free now.
   *
   * @param allocation makes files
   */
  void keepSpare(RingAllocation allocation) {
    Path spare = path.resolve(SPARE_NAME);
    if (memory.identity(spare) != null || memory.availableBytes(path) < 2 * SPARE_BYTES) {
      return;
    }
    try {
      allocation.create(spare, SPARE_BYTES, fileMode);
    } catch (BatchWeaveException tooLittle) {
      return; // another time
    }
  }

  /**
   * Removes everything but the lock, the files of living ranks and the rings that they read, which
   * are left to the next daemon, and gives the lock back. A daemon that never served leaves the
   * rings that it found held.
   */
  @Override
  public void close() {
    try {
      if (published) {
        leaveToTheNext();
      } else {
        removeLeftovers(this::isHeld, line -> {});
      }
    } finally {
      lock.close();
    }
  }

  /** What the next daemon would find if this one had been killed is all that stays. */
  private void leaveToTheNext() {
    try (FoundRings found = FoundRings.read(memory, path)) {
      Set<Integer> read = found.numbers();
      removeLeftovers(
          file ->
              found.needs(file)
                  || read.contains(RingAbi.ringOfDataName(file))
                  || (!read.isEmpty() && file.endsWith(RingAbi.DOORBELL_NAME)),
          line -> {});
      if (!read.isEmpty()) {
        lines.accept(
            "left to the next daemon, for ranks read there: rings="
                + read
                + " pids="
                + found.pids());
      }
    }
  }

  /**
   * Removes what was left to a next daemon as soon as the last rank is gone, unless one has come.
   *
   * @param memory the system
   * @param path the directory, whose lock was given back
   * @param group that shares it
   * @return whether nothing is left to be waited for
   */
  static boolean removeIfDeserted(NativeMemory memory, Path path, @Nullable String group) {
    try (Stream<Path> listed = Files.list(path)) {
      List<Path> files = listed.toList();
      boolean left = files.stream().anyMatch(file -> RingAbi.ringOfDataName(file) >= 0);
      if (!left || isLocked(memory, path.resolve(RingAbi.DAEMON_LOCK_NAME))) {
        return true;
      }
      for (Path file : files) {
        if (RingAbi.readerOfName(file) != null && isLocked(memory, file)) {
          return false;
        }
      }
      open(memory, path, group, line -> {}).close();
    } catch (IOException | UncheckedIOException | BatchWeaveException goneOrServedAgain) {
      return true;
    }
    return true;
  }

  private boolean isHeld(Path file) {
    return heldRings.contains(RingAbi.ringOfControlName(file))
        || heldRings.contains(RingAbi.ringOfDataName(file));
  }
}
