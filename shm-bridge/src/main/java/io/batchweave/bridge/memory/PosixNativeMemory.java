package io.batchweave.bridge.memory;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArraySet;
import org.jspecify.annotations.Nullable;

/** The policy on top of {@link Posix}. */
final class PosixNativeMemory implements NativeMemory {
  static final PosixNativeMemory INSTANCE = new PosixNativeMemory();

  private static final int NEW_FILE_MODE = 0600;

  /** What one entry of the page tables' second level maps, with pages of 4 KiB. */
  private static final long HUGE_PAGE_BYTES = 2L << 20;

  private final int pageSizeBytes = Posix.pageSizeBytes();
  private final Set<String> notices = new CopyOnWriteArraySet<>();

  private PosixNativeMemory() {}

  @Override
  public SharedFile open(Path path, FileAccess access) {
    int flags =
        switch (access) {
          case READ -> Posix.O_RDONLY;
          case READ_WRITE -> Posix.O_RDWR;
          case CREATE -> Posix.O_RDWR | Posix.O_CREAT | Posix.O_EXCL;
          case OPEN_OR_CREATE -> Posix.O_RDWR | Posix.O_CREAT;
        };
    int descriptor =
        Posix.open(path.toString(), flags | Posix.O_NOFOLLOW | Posix.O_CLOEXEC, NEW_FILE_MODE);
    if (descriptor < 0) {
      throw Posix.failure("open", path, descriptor);
    }
    return new PosixFile(path, descriptor);
  }

  @Override
  public @Nullable FileIdentity identity(Path path) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment statx = arena.allocate(Posix.STATX_LENGTH, 8);
      int result = Posix.status(Posix.AT_FDCWD, path.toString(), statx);
      if (result == -Posix.ENOENT) {
        return null;
      }
      if (result < 0) {
        throw Posix.failure("look at", path, result);
      }
      return identityOf(statx);
    }
  }

  private static FileIdentity identityOf(MemorySegment statx) {
    return new FileIdentity(
        statx.get(ValueLayout.JAVA_LONG, Posix.STATX_DEVICE),
        statx.get(ValueLayout.JAVA_LONG, Posix.STATX_INODE));
  }

  @Override
  public long availableBytes(Path directory) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment statvfs = arena.allocate(Posix.STATVFS_LENGTH, 8);
      int result = Posix.fileSystem(directory.toString(), statvfs);
      if (result < 0) {
        throw Posix.failure("look at the file system of", directory, result);
      }
      return statvfs.get(ValueLayout.JAVA_LONG, Posix.STATVFS_FRAGMENT_BYTES)
          * statvfs.get(ValueLayout.JAVA_LONG, Posix.STATVFS_AVAILABLE_FRAGMENTS);
    }
  }

  @Override
  public int pageSizeBytes() {
    return pageSizeBytes;
  }

  @Override
  public FutexWaiter newWaiter() {
    return new FutexWaiter();
  }

  @Override
  public List<String> notices() {
    return List.copyOf(notices);
  }

  /** One descriptor, with the scratch memory that lock calls need. */
  private final class PosixFile implements SharedFile {
    private final Path path;
    private final int descriptor;

    // Closed by close().
    @SuppressWarnings("MustBeClosedChecker")
    private final Arena arena = Arena.ofShared();

    private final MemorySegment capture = Posix.newCapture(arena);
    private final MemorySegment flock = arena.allocate(Posix.FLOCK_LENGTH, 8);
    private boolean closed;

    PosixFile(Path path, int descriptor) {
      this.path = path;
      this.descriptor = descriptor;
      NativeMemoryAccount.DESCRIPTORS.incrementAndGet();
    }

    @Override
    public Path path() {
      return path;
    }

    private MemorySegment status(Arena scratch) {
      MemorySegment statx = scratch.allocate(Posix.STATX_LENGTH, 8);
      check("look at", Posix.status(descriptor(), "", statx));
      return statx;
    }

    @Override
    public FileIdentity identity() {
      try (Arena scratch = Arena.ofConfined()) {
        return identityOf(status(scratch));
      }
    }

    @Override
    public long lengthBytes() {
      try (Arena scratch = Arena.ofConfined()) {
        return status(scratch).get(ValueLayout.JAVA_LONG, Posix.STATX_SIZE);
      }
    }

    @Override
    public void truncate(long lengthBytes) {
      check("set the length of", Posix.truncate(descriptor(), lengthBytes));
    }

    @Override
    public void allocate(long offset, long lengthBytes) {
      check("allocate", Posix.allocate(descriptor(), offset, lengthBytes));
    }

    @Override
    public boolean allocateHuge(long offset, long lengthBytes) {
      long first = (offset + HUGE_PAGE_BYTES - 1) & -HUGE_PAGE_BYTES;
      long end = (offset + lengthBytes) & -HUGE_PAGE_BYTES;
      boolean huge = first >= end || collapse(first, end);
      allocate(offset, lengthBytes);
      return huge;
    }

    /** The kernel makes one huge page of what has at least one small page, and fills it up. */
    private boolean collapse(long first, long end) {
      if (lengthBytes() < end) {
        truncate(end);
      }
      for (long at = first; at < end; at += HUGE_PAGE_BYTES) {
        allocate(at, pageSizeBytes);
      }
      long address = mapped(first, end - first, Protection.READ_WRITE);
      int collapsed = Posix.advise(address, end - first, Posix.MADV_COLLAPSE);
      check("unmap", Posix.unmap(address, end - first));
      if (collapsed < 0) {
        notices.add(
            "no huge pages here (MADV_COLLAPSE, Linux 6.1): the ring has small ones, which take longer"
                + " to map and to give back; errno="
                + -collapsed);
      }
      return collapsed >= 0;
    }

    @Override
    public void allocateNew(long lengthBytes, int mode) {
      try {
        changeMode(mode);
        allocate(0, lengthBytes);
      } catch (NativeMemoryException e) {
        try {
          Files.deleteIfExists(path);
        } catch (IOException left) {
          e.addSuppressed(left);
        }
        throw e;
      }
    }

    @Override
    public void changeMode(int mode) {
      check("set the mode of", Posix.changeMode(descriptor(), mode));
    }

    /** The address of a new mapping, one that huge pages can be mapped at if they fit. */
    private long mapped(long offset, long lengthBytes, Protection protection) {
      int flags =
          protection == Protection.READ ? Posix.PROT_READ : Posix.PROT_READ | Posix.PROT_WRITE;
      long alignment = lengthBytes < HUGE_PAGE_BYTES ? 1 : HUGE_PAGE_BYTES;
      long address = Posix.map(descriptor(), offset, lengthBytes, flags, alignment);
      if (Posix.isError(address)) {
        throw Posix.failure("map", path, (int) address);
      }
      return address;
    }

    @Override
    public Mapping map(long lengthBytes, Protection protection) {
      long address = mapped(0, lengthBytes, protection);
      int advised = Posix.advise(address, lengthBytes, Posix.MADV_DONTFORK);
      if (advised < 0) {
        notices.add(
            "no MADV_DONTFORK here: a forked child shares the ring until it runs another program");
      }
      return new Mapping(address, lengthBytes, protection);
    }

    @Override
    public boolean tryLock() {
      prepareLock();
      int result = Posix.lock(capture, descriptor(), Posix.F_OFD_SETLK, flock.address());
      if (result == -Posix.EAGAIN || result == -Posix.EACCES) {
        return false;
      }
      check("lock", result);
      return true;
    }

    @Override
    public boolean isLockedElsewhere() {
      prepareLock();
      check("probe", Posix.lock(capture, descriptor(), Posix.F_OFD_GETLK, flock.address()));
      return flock.get(ValueLayout.JAVA_SHORT, Posix.FLOCK_TYPE) != Posix.F_UNLCK;
    }

    private void prepareLock() {
      flock.fill((byte) 0);
      flock.set(ValueLayout.JAVA_SHORT, Posix.FLOCK_TYPE, Posix.F_WRLCK);
    }

    private int descriptor() {
      if (closed) {
        throw new IllegalStateException("closed: path=" + path);
      }
      return descriptor;
    }

    private void check(String what, int result) {
      if (result < 0) {
        throw Posix.failure(what, path, result);
      }
    }

    @Override
    public void close() {
      if (!closed) {
        closed = true;
        arena.close();
        NativeMemoryAccount.DESCRIPTORS.decrementAndGet();
        int result = Posix.close(descriptor);
        check("close", result);
      }
    }
  }
}
