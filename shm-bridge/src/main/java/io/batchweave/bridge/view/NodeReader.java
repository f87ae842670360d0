package io.batchweave.bridge.view;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.memory.FileAccess;
import io.batchweave.bridge.memory.LockProbe;
import io.batchweave.bridge.memory.Mapping;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.Protection;
import io.batchweave.bridge.memory.SharedFile;
import io.batchweave.bridge.ring.Attachment;
import io.batchweave.bridge.ring.ControlDescriptor;
import io.batchweave.bridge.ring.GenerationHeader;
import io.batchweave.bridge.ring.Id128;
import io.batchweave.bridge.ring.ReaderDescriptor;
import io.batchweave.bridge.ring.ReaderHeader;
import io.batchweave.bridge.ring.RingAbi;
import io.batchweave.bridge.ring.RingStatus;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Reads what a node daemon and its ranks show of themselves; writes nothing. */
public final class NodeReader {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final long MAX_JSON_BYTES = 1 << 20;

  private final NativeMemory memory;
  private final Path directory;
  private final List<String> notes = new ArrayList<>();

  /**
   * Creates one.
   *
   * @param memory the system
   * @param directory the daemon directory
   */
  public NodeReader(NativeMemory memory, Path directory) {
    this.memory = memory;
    this.directory = directory;
  }

  /** A generation's file, mapped for reading. */
  private record Generation(GenerationHeader header, Mapping mapping) implements AutoCloseable {
    MemorySegment segment() {
      return mapping.segment();
    }

    @Override
    public void close() {
      mapping.close();
    }
  }

  /**
   * Looks once.
   *
   * @throws BatchWeaveException of kind RETRYABLE when no daemon serves the directory
   */
  public NodeView read() throws IOException, InterruptedException {
    notes.clear();
    requireDaemon();
    Path file = directory.resolve(RingAbi.DAEMON_JSON_NAME);
    if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)
        || Files.size(file) > MAX_JSON_BYTES) {
      throw noDaemon("it has not said yet what it serves");
    }
    JsonNode daemon = JSON.readTree(file.toFile());
    if (daemon.path("abi").asInt() != RingAbi.VERSION) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "the daemon has another version of the shared memory: abi="
              + daemon.path("abi").asText()
              + " expected="
              + RingAbi.VERSION
              + "; use the batchweave that it was started with");
    }
    List<String> streams = new ArrayList<>();
    daemon.path("streams").forEach(stream -> streams.add(stream.path("url").asText()));
    return new NodeView(
        directory.toString(),
        daemon.path("pid").asLong(),
        streams,
        rings(daemon.path("rings")),
        metrics(daemon.path("metrics").asText()),
        notes);
  }

  private void requireDaemon() {
    try (LockProbe probe = LockProbe.open(memory, directory.resolve(RingAbi.DAEMON_LOCK_NAME))) {
      if (probe == null) {
        throw noDaemon("there is no daemon.lock");
      }
      if (!probe.isLocked()) {
        throw noDaemon("its lock is free: the daemon has ended");
      }
    }
  }

  private BatchWeaveException noDaemon(String why) {
    return new BatchWeaveException(
        Kind.RETRYABLE,
        "no daemon serves this directory: --dir="
            + directory
            + " ("
            + why
            + "); start one with `batchweave serve`, or name the directory of yours");
  }

  private Map<String, Double> metrics(String url) throws InterruptedException {
    try {
      return NodeMetrics.fetch(url).values();
    } catch (IOException | NumberFormatException e) {
      notes.add("no metrics: " + e.getMessage());
      return Map.of();
    }
  }

  private List<NodeView.Ring> rings(JsonNode told) throws IOException {
    Map<Integer, NodeView.Ring> rings = new TreeMap<>();
    List<Path> readers = new ArrayList<>();
    List<Path> controls = new ArrayList<>();
    try (Stream<Path> files = Files.list(directory)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        if (RingAbi.ringOfControlName(file) >= 0) {
          controls.add(file);
        } else if (RingAbi.readerOfName(file) != null) {
          readers.add(file);
        }
      }
    }
    controls.sort(Comparator.comparingLong(RingAbi::generationOfControlName).reversed());
    for (JsonNode ring : told) {
      int number = ring.path("ring").asInt();
      rings.put(number, ring(number, ring.path("sizeBytes").asLong(), controls, readers));
    }
    return List.copyOf(rings.values());
  }

  /** The newest generation that can be read. */
  private NodeView.Ring ring(
      int number, long lengthBytes, List<Path> controls, List<Path> readers) {
    for (Path control : controls) {
      if (RingAbi.ringOfControlName(control) == number) {
        try (Generation generation = open(control)) {
          return ring(generation, lengthBytes, readers);
        } catch (BatchWeaveException | InternalError e) {
          notes.add("left out: file=" + control.getFileName() + " (" + e.getMessage() + ")");
        }
      }
    }
    return empty(number, lengthBytes);
  }

  private static NodeView.Ring empty(int number, long lengthBytes) {
    return new NodeView.Ring(
        number, lengthBytes, 0, "", "", -1, "empty", -1, 0, 0, 0, 0, "", List.of());
  }

  // The caller closes it.
  @SuppressWarnings("MustBeClosedChecker")
  private Generation open(Path control) {
    try (SharedFile file = memory.open(control, FileAccess.READ)) {
      Mapping mapping = file.map(Math.max(1, file.lengthBytes()), Protection.READ);
      try {
        String name = String.valueOf(control.getFileName());
        return new Generation(ControlDescriptor.readHeader(name, mapping.segment()), mapping);
      } catch (RuntimeException | InternalError e) {
        mapping.close();
        throw e;
      }
    }
  }

  private NodeView.Ring ring(Generation generation, long lengthBytes, List<Path> readers) {
    GenerationHeader header = generation.header();
    RingStatus status = ControlDescriptor.loadStatus(generation.segment());
    int state = ControlDescriptor.stateLoadAcquire(generation.segment());
    List<NodeView.Rank> ranks = new ArrayList<>();
    for (Path reader : readers) {
      NodeView.Rank rank = rank(reader, generation, status);
      if (rank != null) {
        ranks.add(rank);
      }
    }
    ranks.sort(
        Comparator.comparingInt(NodeView.Rank::dp)
            .thenComparingInt(NodeView.Rank::cp)
            .thenComparingInt(NodeView.Rank::rank)
            .thenComparingLong(NodeView.Rank::generation));
    return new NodeView.Ring(
        header.ring().number(),
        lengthBytes,
        status.usedBytes(),
        header.session().group(),
        header.session().session(),
        header.generation(),
        ControlDescriptor.stateOf(state) == ControlDescriptor.STATE_CLOSED
            ? "closed: "
                + ControlDescriptor.reasonOf(state)
                    .name()
                    .toLowerCase(Locale.ROOT)
                    .replace('_', ' ')
            : "open",
        nextStep(generation, status.publishedCount()),
        status.publishedCount(),
        Math.max(0, status.allocatedCount() - status.publishedCount()),
        status.unfinishedFetches(),
        status.blockedBytes(),
        status.trouble(),
        ranks);
  }

  private static long nextStep(Generation generation, long publishedCount) {
    if (publishedCount == 0) {
      return generation.header().firstStep();
    }
    long offset = descriptor(generation, publishedCount - 1);
    return offset < 0 ? -1 : ControlDescriptor.nextStepLoadPlain(generation.segment(), offset);
  }

  /** Where step n is described, -1 when its slot has another step by now. */
  private static long descriptor(Generation generation, long n) {
    if (n < 0) {
      return -1;
    }
    long offset = ControlDescriptor.descriptorOffset(n, generation.header().descriptorCount());
    long seq = ControlDescriptor.seqLoadAcquire(generation.segment(), offset);
    return seq == RingAbi.seqAllocated(n) || seq == RingAbi.seqPublished(n) ? offset : -1;
  }

  /** Who wrote a reader file; null when that is another ring, or nobody yet. */
  private NodeView.@Nullable Rank rank(Path path, Generation generation, RingStatus status) {
    Id128 id = RingAbi.readerOfName(path);
    try (LockProbe probe = LockProbe.open(memory, path)) {
      if (id == null || probe == null || probe.file().lengthBytes() < ReaderDescriptor.LENGTH) {
        return null;
      }
      try (Mapping mapping = probe.file().map(ReaderDescriptor.LENGTH, Protection.READ)) {
        MemorySegment reader = mapping.segment();
        ReaderHeader header = ReaderDescriptor.readHeader(path.toString(), reader);
        Attachment attachment = ReaderDescriptor.attachmentLoadAcquire(reader);
        if (attachment == null || attachment.ringNumber() != generation.header().ring().number()) {
          return null;
        }
        boolean current = attachment.generationId().equals(generation.header().generationId());
        long taken = current ? ReaderDescriptor.takenLoadAcquire(reader) : 0;
        long last = descriptor(generation, taken - 1);
        return new NodeView.Rank(
            header.rank(),
            header.pid(),
            header.coordinate().dp(),
            header.coordinate().cp(),
            probe.isLocked(),
            attachment.generation(),
            last < 0 ? -1 : ControlDescriptor.stepLoadPlain(generation.segment(), last),
            current ? held(reader, generation.header(), attachment.firstN(), taken) : 0,
            current && ReaderDescriptor.waitingLoadAcquire(reader) > status.publishedCount(),
            status.blockedBytes() > 0 && status.blockedReader().equals(id));
      }
    } catch (BatchWeaveException | InternalError e) {
      notes.add("left out: file=" + path.getFileName() + " (" + e.getMessage() + ")");
      return null;
    }
  }

  /** Steps taken and not released; a rank that writes nonsense holds at most a ring of them. */
  private static long held(MemorySegment reader, GenerationHeader header, long firstN, long taken) {
    int slots = header.descriptorCount();
    long held = 0;
    for (long n = Math.max(Math.max(0, firstN), taken - slots); n < taken; n++) {
      held += ReaderDescriptor.isAckedLoadAcquire(reader, n, slots) ? 0 : 1;
    }
    return held;
  }
}
