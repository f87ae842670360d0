package io.batchweave.bridge.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.SharedDirectory;
import io.batchweave.bridge.SmallFileSystem;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Allocation of rings (U6) and what limits it. */
@Timeout(60)
class RingAllocationTest {
  private static final long MIB = 1L << 20;

  private final NativeMemory memory = NativeMemory.system();

  @Test
  void shouldReallyAllocate() throws IOException {
    try (SharedDirectory directory = SharedDirectory.create()) {
      Path path = directory.path().resolve("ring-0.data");
      new RingAllocation(memory, new Headroom(memory), 0).create(path, 65 * MIB, 0600);
      assertEquals(65 * MIB, Files.size(path));
      try (SharedFile file = memory.open(path, FileAccess.READ);
          Mapping mapping = file.map(65 * MIB, Protection.READ)) {
        assertEquals(0, mapping.segment().get(ValueLayout.JAVA_BYTE, 65 * MIB - 1));
        assertTrue(mapping.segment().isReadOnly());
      }
    }
  }

  /** One entry of the page tables for each 2 MiB, in whatever process maps the ring. */
  @Test
  void shouldMapHugePagesWhereTheSystemHasThem() throws IOException {
    try (SharedDirectory directory = SharedDirectory.create()) {
      Path path = directory.path().resolve("ring-0.data");
      try (SharedFile file = memory.open(path, FileAccess.CREATE)) {
        assertFalse(file.lengthBytes() > 0);
        assumeTrue(file.allocateHuge(0, 9 * MIB), () -> "no huge pages: " + memory.notices());
        assertEquals(9 * MIB, file.lengthBytes());
      }
      Path ring = directory.path().resolve("ring-1.data");
      new RingAllocation(memory, new Headroom(memory), 0).create(ring, 133 * MIB, 0600);
      try (SharedFile small = memory.open(path, FileAccess.READ_WRITE);
          SharedFile large = memory.open(ring, FileAccess.READ);
          Mapping first = small.map(9 * MIB, Protection.READ_WRITE);
          Mapping second = large.map(133 * MIB, Protection.READ)) {
        first.segment().fill((byte) 1);
        for (long at = 0; at < second.lengthBytes(); at += memory.pageSizeBytes()) {
          assertEquals(0, second.segment().get(ValueLayout.JAVA_BYTE, at));
        }
        assertEquals(8 * MIB, hugeBytes(path));
        assertEquals(132 * MIB, hugeBytes(ring));
      }
    }
  }

  /** Of the mapping of a file, what is mapped by huge pages. */
  private static long hugeBytes(Path file) throws IOException {
    List<String> lines = Files.readAllLines(Path.of("/proc/self/smaps"));
    int at = 0;
    while (!lines.get(at).endsWith(file.toString())) {
      at++;
    }
    while (!lines.get(at).startsWith("ShmemPmdMapped:")) {
      at++;
    }
    String[] words = lines.get(at).split(" +", -1);
    return Long.parseLong(words[1]) << 10;
  }

  /**
   * A file system that gives no huge pages: the ring is there all the same, and one line says so.
   */
  @Test
  void shouldGoOnWithSmallPagesAndSayItOnce(@TempDir Path folder) throws IOException {
    try (SharedFile file = memory.open(folder.resolve("ring-0.data"), FileAccess.CREATE)) {
      assumeTrue(!file.allocateHuge(0, 8 * MIB), "huge pages even there");
      assertFalse(file.allocateHuge(8 * MIB, 8 * MIB));
      assertEquals(16 * MIB, file.lengthBytes());
    }
    List<String> notices =
        memory.notices().stream().filter(line -> line.contains("MADV_COLLAPSE")).toList();
    assertEquals(1, notices.size(), notices::toString);
    assertEquals(1, notices.getFirst().lines().count());
    assertTrue(notices.getFirst().contains("errno="), notices::toString);
  }

  /** Past the limit of a cgroup the kernel kills, instead of saying that there is no room. */
  @Test
  void shouldNameTheCgroupThatLeavesTooLittle(@TempDir Path folder) throws IOException {
    Path mount = Files.createDirectories(folder.resolve("cgroup"));
    Files.writeString(mount.resolve("memory.max"), 8 * MIB + "\n");
    Files.writeString(mount.resolve("memory.current"), MIB + "\n");
    Headroom headroom = new Headroom(memory, proc(folder, "0::/", "cgroup2 none rw", "/", mount));
    Path ring = folder.resolve("ring-0.data");
    RingAllocation allocation = new RingAllocation(memory, headroom, 2 * MIB);
    BatchWeaveException thrown =
        assertThrows(BatchWeaveException.class, () -> allocation.create(ring, 6 * MIB, 0600));
    String message = String.valueOf(thrown.getMessage());
    assertEquals(Kind.CONFIG, thrown.kind());
    assertTrue(message.contains("available=" + 5 * MIB), message);
    assertTrue(message.contains("limit=\"cgroup " + mount), message);
    assertFalse(Files.exists(ring), "left a part of it");
    allocation.create(ring, 5 * MIB, 0600);
    assertEquals(5 * MIB, Files.size(ring));
  }

  /**
   * Others take memory meanwhile: a ring that no longer fits is given up before the kernel kills.
   */
  @Test
  void shouldLookAgainBeforeEachStep(@TempDir Path folder) throws IOException {
    Path ring = folder.resolve("ring-0.data");
    List<Long> seen = new ArrayList<>();
    NativeMemory shrinking =
        (NativeMemory)
            Proxy.newProxyInstance(
                NativeMemory.class.getClassLoader(),
                new Class<?>[] {NativeMemory.class},
                (self, method, arguments) -> {
                  if (!method.getName().equals("availableBytes")) {
                    return method.invoke(memory, arguments);
                  }
                  long length = Files.exists(ring) ? Files.size(ring) : 0;
                  seen.add(length);
                  return length < 128 * MIB ? 1L << 40 : MIB;
                });
    Path none = Files.createDirectories(folder.resolve("proc"));
    RingAllocation allocation = new RingAllocation(shrinking, new Headroom(shrinking, none), 0);
    BatchWeaveException thrown =
        assertThrows(BatchWeaveException.class, () -> allocation.create(ring, 200 * MIB, 0600));
    assertTrue(String.valueOf(thrown.getMessage()).contains("available=" + MIB));
    assertEquals(List.of(0L, 0L, 64 * MIB, 128 * MIB), seen);
    assertFalse(Files.exists(ring), "left a part of it");
  }

  /** U6: a small tmpfs, a large ring. */
  @Test
  void shouldSayWhatIsNeededWhenATmpfsIsTooSmall(@TempDir Path folder) throws Exception {
    try (SmallFileSystem small = SmallFileSystem.mount(folder, 64)) {
      Path mount = small.path();
      RingAllocation allocation = new RingAllocation(memory, new Headroom(memory), 8 * MIB);
      Path path = mount.resolve("ring-0.data");
      BatchWeaveException thrown =
          assertThrows(BatchWeaveException.class, () -> allocation.create(path, 1L << 30, 0600));
      assertEquals(Kind.CONFIG, thrown.kind());
      String message = String.valueOf(thrown.getMessage());
      assertTrue(message.contains("needed=1073741824"), message);
      assertTrue(message.contains("available=" + (64 - 8) * MIB), message);
      assertTrue(message.contains("--memory"), message);
      assertFalse(Files.exists(path), "left a part of it");
      // The reserve stays free.
      allocation.create(path, 56 * MIB, 0600);
      assertEquals(8 * MIB, memory.availableBytes(mount));
      assertThrows(
          BatchWeaveException.class,
          () -> allocation.create(mount.resolve("ring-1.data"), MIB, 0600));
    }
  }

  /** The kernel's own refusal, when the headroom that was seen is gone again. */
  @Test
  void shouldCleanUpWhenTheKernelRefuses(@TempDir Path folder) throws Exception {
    try (SmallFileSystem small = SmallFileSystem.mount(folder, 16);
        SharedFile file = memory.open(small.path().resolve("file"), FileAccess.CREATE)) {
      NativeMemoryException thrown =
          assertThrows(NativeMemoryException.class, () -> file.allocate(0, 32 * MIB));
      assertEquals(Kind.LIMIT, thrown.kind());
      assertEquals(Posix.ENOSPC, thrown.errno());
    }
  }

  /** A file that is mapped has all of its memory, or there is no file. */
  @Test
  void shouldLeaveNothingWhenANewFileDoesNotFit(@TempDir Path folder) throws Exception {
    try (SmallFileSystem small = SmallFileSystem.mount(folder, 1)) {
      Path path = small.path().resolve("reader");
      small.fill();
      NativeMemoryException thrown =
          assertThrows(
              NativeMemoryException.class, () -> LockedMapping.create(memory, path, 8192, 0600));
      assertEquals(Kind.LIMIT, thrown.kind());
      assertFalse(Files.exists(path), "left a part of it");
      assertThrows(NativeMemoryException.class, () -> LockedMapping.open(memory, path, 8192, 0600));
      Files.delete(path);
      small.makeRoom();
      try (LockedMapping made = LockedMapping.create(memory, path, 8192, 0600)) {
        long before = memory.availableBytes(small.path());
        made.mapping().segment().fill((byte) 1);
        assertEquals(before, memory.availableBytes(small.path()), "a part was a hole");
      }
    }
  }

  @Test
  void shouldHonourEveryVisibleCgroupOfVersion2(@TempDir Path folder) throws IOException {
    Path mount = folder.resolve("cgroup");
    Path leaf = Files.createDirectories(mount.resolve("job/task"));
    Files.writeString(mount.resolve("job/memory.max"), "1000000\n");
    Files.writeString(mount.resolve("job/memory.current"), "900000\n");
    Files.writeString(mount.resolve("job/memory.stat"), "anon 1\ninactive_file 50000\n");
    Files.writeString(leaf.resolve("memory.max"), "max\n");
    Files.writeString(leaf.resolve("memory.current"), "5\n");
    Path proc = proc(folder, "0::/job/task", "cgroup2 none rw", "/", mount);
    HeadroomLimit tightest = new Headroom(memory, proc).tightest(folder);
    assertEquals(new HeadroomLimit("cgroup " + mount.resolve("job"), 150_000), tightest);
  }

  @Test
  void shouldHonourCgroupsOfVersion1InAContainer(@TempDir Path folder) throws IOException {
    Path mount = Files.createDirectories(folder.resolve("memory"));
    Files.writeString(mount.resolve("memory.limit_in_bytes"), "4096000\n");
    Files.writeString(mount.resolve("memory.usage_in_bytes"), "4000000\n");
    Files.writeString(mount.resolve("memory.stat"), "total_inactive_file 10000\n");
    Path proc =
        proc(folder, "4:memory:/docker/abc", "cgroup cgroup rw,memory", "/docker/abc", mount);
    assertEquals(106_000, new Headroom(memory, proc).tightest(folder).availableBytes());
  }

  @Test
  void shouldTakeUnlimitedAndAbsentForNoLimit(@TempDir Path folder) throws IOException {
    Path mount = Files.createDirectories(folder.resolve("cgroup"));
    Files.writeString(mount.resolve("memory.max"), "max\n");
    Path proc = proc(folder, "0::/", "cgroup2 none rw", "/", mount);
    List<HeadroomLimit> limits = new Headroom(memory, proc).limits(folder);
    assertEquals(2, limits.size(), limits::toString);
    assertEquals(8L << 40, limits.get(1).availableBytes());
  }

  private static Path proc(Path folder, String cgroup, String type, String root, Path mount)
      throws IOException {
    Path proc = Files.createDirectories(folder.resolve("proc"));
    Files.createDirectories(proc.resolve("self"));
    Files.writeString(proc.resolve("self/cgroup"), cgroup + "\n");
    Files.writeString(
        proc.resolve("self/mountinfo"),
        "22 1 0:21 / / rw - ext4 /dev/vda rw\n35 24 0:30 "
            + root
            + " "
            + mount
            + " rw shared:9 - "
            + type
            + "\n");
    Files.writeString(proc.resolve("meminfo"), "MemAvailable: " + (8L << 30) + " kB\n");
    return proc;
  }
}
