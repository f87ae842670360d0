package io.batchweave.bridge.memory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How much can still be allocated: by the file system, by the machine, and by every cgroup (v1 and
 * v2) above this process that is visible. Past a cgroup's limit the kernel kills instead of
 * answering ENOSPC, so the limits are read before each step of an allocation.
 *
 * <p>Of a cgroup, pages of files that the kernel can drop at once count as available.
 */
public final class Headroom {
  private static final long UNLIMITED = Long.MAX_VALUE;
  private static final long V1_UNLIMITED_FROM = 1L << 60;

  private final NativeMemory memory;
  private final Path procDirectory;

  /**
   * Creates one for this machine.
   *
   * @param memory the system
   */
  public Headroom(NativeMemory memory) {
    this(memory, Path.of("/proc"));
  }

  /**
   * Creates one that reads another proc file system.
   *
   * @param memory the system
   * @param procDirectory where {@code self/cgroup}, {@code self/mountinfo} and {@code meminfo} are
   */
  public Headroom(NativeMemory memory, Path procDirectory) {
    this.memory = memory;
    this.procDirectory = procDirectory;
  }

  /**
   * Everything that limits an allocation in a directory.
   *
   * @param directory where the file lies
   */
  public List<HeadroomLimit> limits(Path directory) {
    List<HeadroomLimit> limits = new ArrayList<>();
    limits.add(new HeadroomLimit("file system of " + directory, memory.availableBytes(directory)));
    for (String line : lines(procDirectory.resolve("meminfo"))) {
      if (line.startsWith("MemAvailable:")) {
        String[] words = line.trim().split("\\s+", -1);
        limits.add(new HeadroomLimit("memory of the machine", Long.parseLong(words[1]) << 10));
      }
    }
    addCgroups(limits);
    return limits;
  }

  /**
   * The one that leaves least.
   *
   * @param directory where the file lies
   */
  public HeadroomLimit tightest(Path directory) {
    return limits(directory).stream()
        .min(Comparator.comparingLong(HeadroomLimit::availableBytes))
        .orElseThrow();
  }

  private void addCgroups(List<HeadroomLimit> limits) {
    List<String> mounts = lines(procDirectory.resolve("self/mountinfo"));
    for (String line : lines(procDirectory.resolve("self/cgroup"))) {
      // hierarchy:controllers:path; version 2 has the number 0 and no controllers.
      String[] parts = line.split(":", 3);
      if (parts.length < 3) {
        continue;
      }
      boolean version2 = parts[0].equals("0") && parts[1].isEmpty();
      if (version2 || List.of(parts[1].split(",")).contains("memory")) {
        addCgroup(limits, mounts, version2, parts[2]);
      }
    }
  }

  private static void addCgroup(
      List<HeadroomLimit> limits, List<String> mounts, boolean version2, String cgroup) {
    for (String line : mounts) {
      // id parent major:minor root mountPoint options … - type source superOptions
      String[] halves = line.split(" - ", 2);
      String[] left = halves[0].split(" ", -1);
      if (halves.length < 2 || left.length < 5) {
        continue;
      }
      String[] right = halves[1].split(" ", -1);
      boolean matches =
          version2
              ? right[0].equals("cgroup2")
              : right[0].equals("cgroup")
                  && List.of(right[right.length - 1].split(",")).contains("memory");
      if (matches) {
        Path mountPoint = Path.of(left[4]);
        String root = left[3];
        // In a container without its own namespace the path begins with the mount's root.
        String relative = cgroup.startsWith(root) ? cgroup.substring(root.length()) : cgroup;
        Path directory = mountPoint.resolve(relative.replaceAll("^/+", "")).normalize();
        if (!directory.startsWith(mountPoint) || !Files.isDirectory(directory)) {
          directory = mountPoint;
        }
        addUpwards(limits, version2, mountPoint, directory);
        return;
      }
    }
  }

  private static void addUpwards(
      List<HeadroomLimit> limits, boolean version2, Path mountPoint, Path leaf) {
    Path directory = leaf;
    while (directory != null && directory.startsWith(mountPoint)) {
      long limit = number(directory.resolve(version2 ? "memory.max" : "memory.limit_in_bytes"));
      long used = number(directory.resolve(version2 ? "memory.current" : "memory.usage_in_bytes"));
      if (limit != UNLIMITED && limit < V1_UNLIMITED_FROM && used != UNLIMITED) {
        long droppable =
            statistic(
                directory.resolve("memory.stat"),
                version2 ? "inactive_file" : "total_inactive_file");
        limits.add(
            new HeadroomLimit(
                "cgroup " + directory, Math.max(0, limit - used + Math.min(droppable, used))));
      }
      directory = directory.getParent();
    }
  }

  private static long number(Path file) {
    String text = String.join("", lines(file)).trim();
    return text.isEmpty() || text.equals("max") ? UNLIMITED : parse(text);
  }

  private static long statistic(Path file, String name) {
    for (String line : lines(file)) {
      if (line.startsWith(name + " ")) {
        return parse(line.substring(name.length() + 1).trim());
      }
    }
    return 0;
  }

  private static long parse(String text) {
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException e) {
      return UNLIMITED; // larger than a long: no limit that matters
    }
  }

  private static List<String> lines(Path file) {
    @Nullable List<String> lines = null;
    try {
      lines = Files.readAllLines(file);
    } catch (IOException e) {
      // Not visible here: no limit that we could honour.
    }
    return lines == null ? List.of() : lines;
  }
}
