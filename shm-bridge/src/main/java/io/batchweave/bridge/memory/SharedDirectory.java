package io.batchweave.bridge.memory;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.GroupPrincipal;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipalNotFoundException;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * Who may use a daemon directory. Alone: mode 0700, files 0600. Shared with a group: mode 03770 and
 * files 0660 of that group; the set-group-id bit hands the group on to whatever is created there,
 * the sticky bit keeps one user from replacing the files of another. No symbolic link is followed.
 */
public final class SharedDirectory {
  /** Mode of files in a directory of one user. */
  public static final int ALONE_FILE_MODE = 0600;

  /** Mode of files in a directory that a group shares. */
  public static final int GROUP_FILE_MODE = 0660;

  private static final int GROUP_DIRECTORY_MODE = 03770;
  private static final int GROUP_PARENT_MODE = 02750;
  private static final int GROUP_EXECUTE = 0010;
  private static final int OTHER_EXECUTE = 0001;
  private static final int GROUP_WRITE = 0020;
  private static final int OTHER_WRITE = 0002;
  private static final int GROUP_MASK = 0007;
  private static final int PERMISSIONS = 0777;
  private static final int ROOT = 0;

  private SharedDirectory() {}

  /**
   * Creates a daemon directory, or makes one that this user owns ready.
   *
   * @param directory absolute
   * @param group that shares it; null: nobody
   * @throws BatchWeaveException of kind CONFIG when it, or what it lies in, belongs to another
   *     user, the group is not known, or its members cannot come there
   */
  public static void create(Path directory, @Nullable String group) throws IOException {
    GroupPrincipal shared = group == null ? null : groupOf(directory, group);
    Deque<Path> missing = new ArrayDeque<>();
    for (Path path = directory; path != null; path = path.getParent()) {
      if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
        missing.push(path);
      } else {
        requireReachable(path, directory, shared);
      }
    }
    for (Path path : missing) {
      Files.createDirectory(
          path, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
      if (shared != null) {
        share(path, shared, GROUP_PARENT_MODE);
      }
    }
    requireOwn(directory);
    if (shared != null) {
      share(directory, shared, GROUP_DIRECTORY_MODE);
    }
  }

  private static GroupPrincipal groupOf(Path directory, String group) throws IOException {
    try {
      return directory
          .getFileSystem()
          .getUserPrincipalLookupService()
          .lookupPrincipalByGroupName(group);
    } catch (UserPrincipalNotFoundException e) {
      throw new BatchWeaveException(
          Kind.CONFIG, "this system knows no such group: --group=" + group, e);
    }
  }

  private static void share(Path path, GroupPrincipal group, int mode) throws IOException {
    try {
      Files.setAttribute(path, "posix:group", group, LinkOption.NOFOLLOW_LINKS);
    } catch (IOException e) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "the directory cannot be given to the group (is this user a member?): --group="
              + group.getName()
              + " path="
              + path
              + " ("
              + e.getMessage()
              + ")",
          e);
    }
    Files.setAttribute(path, "unix:mode", mode);
  }

  private static int attribute(Path path, String name) throws IOException {
    return (Integer) Files.getAttribute(path, "unix:" + name, LinkOption.NOFOLLOW_LINKS);
  }

  private static int self() throws IOException {
    return (Integer) Files.getAttribute(Path.of("/proc/self"), "unix:uid");
  }

  private static void requireReachable(Path path, Path directory, @Nullable GroupPrincipal group)
      throws IOException {
    int owner = attribute(path, "uid");
    if (owner != ROOT && owner != self()) {
      throw foreign(path, owner);
    }
    if (group == null || path.equals(directory)) {
      return;
    }
    int mode = attribute(path, "mode");
    int reachableBy = group.equals(Files.getAttribute(path, "posix:group")) ? GROUP_EXECUTE : 0;
    if ((mode & (OTHER_EXECUTE | reachableBy)) == 0) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "members of the group cannot come to the directory: --group="
              + group.getName()
              + " --dir="
              + directory
              + " closed="
              + path
              + "; choose a --dir elsewhere, or open that one");
    }
  }

  private static void requireOwn(Path path) throws IOException {
    int owner = attribute(path, "uid");
    if (owner != self() || !Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
      throw foreign(path, owner);
    }
  }

  private static BatchWeaveException foreign(Path path, int owner) throws IOException {
    return new BatchWeaveException(
        Kind.CONFIG,
        "the daemon directory is not this user's own: --dir="
            + path
            + " owner="
            + owner
            + " user="
            + self()
            + "; choose another");
  }

  /** The permission bits of a file. */
  public static int fileMode(Path file) throws IOException {
    return attribute(file, "mode") & PERMISSIONS;
  }

  /** From now on files that this process creates by other means are open to their group. */
  public static void openNewFilesToGroup() {
    var _ = Posix.fileMask(GROUP_MASK);
  }

  /**
   * What mode a rank gives its reader file, once the directory is one that it may trust: a
   * directory and no link, its owner this user or root, or shared with a group on purpose; not open
   * to all.
   *
   * @param directory of the daemon
   * @throws BatchWeaveException of kind CONFIG when it is not to be trusted
   */
  public static int fileModeForRanks(Path directory) {
    try {
      if (!Files.exists(directory, LinkOption.NOFOLLOW_LINKS)) {
        return ALONE_FILE_MODE; // whoever opens a file there will say that it is missing
      }
      int owner = attribute(directory, "uid");
      int mode = attribute(directory, "mode");
      boolean own = owner == ROOT || owner == self();
      if (!Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)
          || (mode & OTHER_WRITE) != 0
          || (!own && ((mode & GROUP_WRITE) == 0 || isDefault(directory)))) {
        throw new BatchWeaveException(
            Kind.CONFIG,
            "not a directory to trust: directory="
                + directory
                + " owner="
                + owner
                + " mode="
                + Integer.toOctalString(mode)
                + "; it is its daemon's user's own, or shared by serve --group");
      }
      return (mode & GROUP_WRITE) == 0 ? ALONE_FILE_MODE : GROUP_FILE_MODE;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Nobody names that one: another user may have been there first. */
  private static boolean isDefault(Path directory) throws IOException {
    return directory.startsWith(Path.of("/dev/shm/batchweave-" + self()));
  }
}
