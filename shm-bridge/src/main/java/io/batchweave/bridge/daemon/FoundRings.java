package io.batchweave.bridge.daemon;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.memory.FileIdentity;
import io.batchweave.bridge.memory.FutexWaiter;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.ring.Attachment;
import io.batchweave.bridge.ring.CloseReason;
import io.batchweave.bridge.ring.ControlFile;
import io.batchweave.bridge.ring.FoundRing;
import io.batchweave.bridge.ring.GenerationHeader;
import io.batchweave.bridge.ring.Id128;
import io.batchweave.bridge.ring.ReaderFile;
import io.batchweave.bridge.ring.ReaderView;
import io.batchweave.bridge.ring.RingAbi;
import io.batchweave.bridge.ring.SessionKey;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The rings of the daemon before that living ranks still read, found in the directory by whoever
 * holds its lock. Reading them closes every generation that is still OPEN: from then on what a rank
 * has taken is what its reader file says. Everything is checked: a file that is not what its writer
 * must have written holds nothing.
 */
final class FoundRings implements AutoCloseable {
  /**
   * One ring.
   *
   * @param data what its newest control file says of the data file
   * @param generations its control files, ascending
   * @param readers the reader files that are attached to one of them
   * @param found the same for the machine
   * @param waker of the control files
   */
  record Ring(
      GenerationHeader.RingFile data,
      List<ControlFile> generations,
      List<ReaderFile> readers,
      FoundRing found,
      FutexWaiter waker)
      implements AutoCloseable {
    @Override
    public void close() {
      generations.forEach(ControlFile::close);
      readers.forEach(ReaderFile::close);
      waker.close();
    }
  }

  private final NativeMemory memory;
  private final Path directory;
  private final TreeMap<Integer, List<ControlFile>> generations = new TreeMap<>();
  private final Map<Integer, String> unreadable = new TreeMap<>();
  private final Map<Integer, FutexWaiter> wakers = new TreeMap<>();
  private final List<ReaderFile> readers = new ArrayList<>();
  private final TreeMap<Integer, Ring> rings = new TreeMap<>();

  private FoundRings(NativeMemory memory, Path directory) {
    this.memory = memory;
    this.directory = directory;
  }

  /**
   * Looks through the directory.
   *
   * @param memory the system
   * @param directory whose lock is held
   */
  static FoundRings read(NativeMemory memory, Path directory) {
    FoundRings found = new FoundRings(memory, directory);
    try (Stream<Path> files = Files.list(directory)) {
      for (Path file : files.sorted().toList()) {
        if (RingAbi.ringOfControlName(file) >= 0) {
          found.addGeneration(file);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    found.closeGenerations();
    // Only now: what is taken after CLOSED is backed out of.
    try (Stream<Path> files = Files.list(directory)) {
      for (Path file : files.sorted().toList()) {
        Id128 id = RingAbi.readerOfName(file);
        if (id != null) {
          found.addReader(id);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    found.gather();
    return found;
  }

  private void addGeneration(Path file) {
    int ring = RingAbi.ringOfControlName(file);
    FutexWaiter waker = wakers.computeIfAbsent(ring, number -> memory.newWaiter());
    try {
      ControlFile adopted = ControlFile.adopt(memory, file, waker);
      if (adopted != null) {
        generations.computeIfAbsent(ring, number -> new ArrayList<>()).add(adopted);
      }
    } catch (BatchWeaveException | InternalError e) {
      unreadable.put(ring, String.valueOf(e.getMessage()));
    }
  }

  private void closeGenerations() {
    for (List<ControlFile> all : generations.values()) {
      all.sort(Comparator.comparingLong(file -> file.header().generation()));
      for (ControlFile file : all) {
        if (file.isOpen()) {
          file.closeGeneration(CloseReason.DAEMON_RESTART);
        }
      }
    }
  }

  private void addReader(Id128 id) {
    try {
      ReaderFile file = ReaderFile.open(memory, directory, id);
      if (file != null && file.isLocked()) {
        readers.add(file);
      } else if (file != null) {
        file.close();
      }
    } catch (BatchWeaveException | InternalError e) {
      // Cut short or scribbled over by its own rank: it holds nothing that could be known.
      return;
    }
  }

  private void gather() {
    for (Map.Entry<Integer, List<ControlFile>> entry : generations.entrySet()) {
      List<ReaderFile> attached = new ArrayList<>();
      List<FoundRing.Reader> claims = new ArrayList<>();
      for (ReaderFile file : readers) {
        Attachment attachment = file.attachment(); // once: its rank may be storing it
        ControlFile read = generationOf(attachment, entry.getValue());
        if (attachment == null) {
          claims.add(claim(file, 0, 0, ReaderView.GONE));
        } else if (read != null) {
          file.expect(read.header());
          attached.add(file);
          claims.add(claim(file, read.header().generation(), attachment.firstN(), file));
        }
      }
      if (attached.isEmpty()) {
        continue;
      }
      List<ControlFile> files = entry.getValue();
      rings.put(
          entry.getKey(),
          new Ring(
              files.getLast().header().ring(),
              List.copyOf(files),
              List.copyOf(attached),
              new FoundRing(files.stream().map(FoundRings::describe).toList(), claims),
              Objects.requireNonNull(wakers.get(entry.getKey()))));
    }
    String trouble = null;
    for (ReaderFile file : readers) {
      if (rings.values().stream().noneMatch(ring -> ring.readers().contains(file))) {
        trouble = trouble == null ? unknown(file) : trouble;
        file.close();
      }
    }
    generations.keySet().removeAll(rings.keySet());
    generations.values().forEach(files -> files.forEach(ControlFile::close));
    wakers.keySet().removeAll(rings.keySet());
    wakers.values().forEach(FutexWaiter::close);
    if (trouble != null) {
      close();
      throw new BatchWeaveException(Kind.CONFIG, trouble);
    }
  }

  private static @Nullable ControlFile generationOf(
      @Nullable Attachment attachment, List<ControlFile> files) {
    for (ControlFile control : files) {
      if (attachment != null && attachment.generationId().equals(control.header().generationId())) {
        return control;
      }
    }
    return null;
  }

  private static FoundRing.Reader claim(
      ReaderFile file, long generation, long firstN, ReaderView view) {
    return new FoundRing.Reader(
        file.id(), file.header().previous(), file.header().coordinate(), generation, firstN, view);
  }

  private static FoundRing.Generation describe(ControlFile file) {
    GenerationHeader header = file.header();
    GenerationHeader.SessionHeader session = header.session();
    return new FoundRing.Generation(
        header.generation(),
        new SessionKey(
            session.streamId(),
            session.group(),
            session.session(),
            session.dpSize(),
            session.cpSize()),
        header.coordinates(),
        session.localReaders(),
        header.firstStep(),
        file.slots());
  }

  /** What a control file that cannot be read describes may be held by those who read it. */
  private @Nullable String unknown(ReaderFile file) {
    Attachment attachment = file.attachment();
    String trouble = attachment == null ? null : unreadable.get(attachment.ringNumber());
    return attachment == null || trouble == null
        ? null
        : "a rank reads a ring whose control file cannot be read: ring="
            + attachment.ringNumber()
            + " pid="
            + file.header().pid()
            + " ("
            + trouble
            + "); end that process, or serve with the release that wrote the file";
  }

  /**
   * Lets go of rings that this daemon cannot go on with, if nobody holds a step there.
   *
   * @param count rings it serves
   * @param lengthBytes of each
   * @throws BatchWeaveException {@link Kind#CONFIG} naming those who hold one
   */
  void require(int count, long lengthBytes) {
    for (Map.Entry<Integer, Ring> entry : List.copyOf(rings.entrySet())) {
      Ring ring = entry.getValue();
      Path path = directory.resolve(RingAbi.dataName(entry.getKey()));
      FileIdentity identity = memory.identity(path);
      boolean isThere = identity != null && identity.inode() == ring.data().inode();
      boolean fits =
          entry.getKey() < count
              && ring.data().lengthBytes() == lengthBytes
              && ring.data().pageSizeBytes() == memory.pageSizeBytes();
      if (isThere && !fits && !ring.found().holders().isEmpty()) {
        throw held(ring, lengthBytes, count);
      }
      if (!isThere || !fits) {
        rings.remove(entry.getKey());
        ring.close();
      }
    }
  }

  private static BatchWeaveException held(Ring ring, long lengthBytes, int count) {
    List<Id128> holders = ring.found().holders();
    List<Integer> pids =
        ring.readers().stream()
            .filter(file -> holders.contains(file.id()))
            .map(file -> file.header().pid())
            .toList();
    return new BatchWeaveException(
        Kind.CONFIG,
        "ranks hold steps of a ring that this daemon would not serve: ring="
            + ring.data().number()
            + " its memory="
            + ring.data().lengthBytes()
            + " --memory="
            + lengthBytes
            + " --rings="
            + count
            + " pids="
            + pids
            + "; serve with --memory "
            + ring.data().lengthBytes()
            + " --rings "
            + Math.max(count, ring.data().number() + 1)
            + ", or end those processes");
  }

  /** The numbers of the rings that ranks read. */
  Set<Integer> numbers() {
    return Set.copyOf(rings.keySet());
  }

  /** The processes of those ranks. */
  Set<Integer> pids() {
    return rings.values().stream()
        .flatMap(ring -> ring.readers().stream())
        .map(file -> file.header().pid())
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** Whether a file of a ring that ranks read is still needed. */
  boolean needs(Path file) {
    Ring ring = rings.get(RingAbi.ringOfControlName(file));
    return ring != null
        && ring.generations().stream()
            .anyMatch(control -> control.name().equals(String.valueOf(file.getFileName())));
  }

  /** Hands a ring over; null when no rank reads it. */
  @Nullable Ring take(int ring) {
    return rings.remove(ring);
  }

  @Override
  public void close() {
    rings.values().forEach(Ring::close);
    rings.clear();
  }
}
