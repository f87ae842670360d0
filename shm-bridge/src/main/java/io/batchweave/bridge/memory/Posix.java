package io.batchweave.bridge.memory;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/**
 * The binding: every downcall of the project. Calls return what the kernel returned, or minus the
 * errno; {@link #failure} is the one translation into an exception.
 */
final class Posix {
  static final int EPERM = 1;
  static final int ENOENT = 2;
  static final int EINTR = 4;
  static final int EAGAIN = 11;
  static final int ENOMEM = 12;
  static final int EACCES = 13;
  static final int EEXIST = 17;
  static final int ENOTDIR = 20;
  static final int EISDIR = 21;
  static final int EINVAL = 22;
  static final int ENFILE = 23;
  static final int EMFILE = 24;
  static final int ENOSPC = 28;
  static final int EROFS = 30;
  static final int ENAMETOOLONG = 36;
  static final int ELOOP = 40;
  static final int ETIMEDOUT = 110;
  static final int EDQUOT = 122;

  static final int O_RDONLY = 0;
  static final int O_RDWR = 2;
  static final int O_CREAT = 0x40;
  static final int O_EXCL = 0x80;
  static final int O_CLOEXEC = 0x80000;
  static final int O_NOFOLLOW;

  static final int PROT_READ = 1;
  static final int PROT_WRITE = 2;
  static final int MADV_DONTFORK = 10;
  static final int MADV_COLLAPSE = 25;

  private static final int MAP_SHARED = 0x1;
  private static final int MAP_PRIVATE = 0x2;
  private static final int MAP_FIXED = 0x10;
  private static final int MAP_ANONYMOUS = 0x20;
  private static final int MAP_NORESERVE = 0x4000;

  static final int F_OFD_GETLK = 36;
  static final int F_OFD_SETLK = 37;
  static final short F_WRLCK = 1;
  static final short F_UNLCK = 2;

  /** struct flock of 64-bit Linux. */
  static final long FLOCK_LENGTH = 32;

  static final long FLOCK_TYPE = 0;

  static final int AT_FDCWD = -100;
  static final int AT_SYMLINK_NOFOLLOW = 0x100;
  static final int AT_EMPTY_PATH = 0x1000;
  static final int STATX_BASIC_STATS = 0x7ff;

  /** struct statx, the same on every architecture. */
  static final long STATX_LENGTH = 256;

  static final long STATX_INODE = 32;
  static final long STATX_SIZE = 40;
  static final long STATX_DEVICE = 136;

  /** struct statvfs of 64-bit Linux. */
  static final long STATVFS_LENGTH = 112;

  static final long STATVFS_FRAGMENT_BYTES = 8;
  static final long STATVFS_AVAILABLE_FRAGMENTS = 32;

  private static final int FUTEX_WAIT = 0;
  private static final int FUTEX_WAKE = 1;
  private static final long SYS_FUTEX;

  private static final Linker LINKER = Linker.nativeLinker();
  private static final StructLayout CAPTURE = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO =
      CAPTURE.varHandle(MemoryLayout.PathElement.groupElement("errno"));

  static {
    String architecture = System.getProperty("os.arch");
    switch (architecture) {
      case "amd64" -> {
        O_NOFOLLOW = 0x20000;
        SYS_FUTEX = 202;
      }
      case "aarch64" -> {
        O_NOFOLLOW = 0x8000;
        SYS_FUTEX = 98;
      }
      default ->
          throw new BatchWeaveException(
              Kind.CONFIG,
              "shared memory needs Linux on x86-64 or AArch64; architecture=" + architecture);
    }
  }

  private static final MethodHandle OPEN =
      handle("open", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT), 2);
  private static final MethodHandle CLOSE =
      handle("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT), -1);
  private static final MethodHandle FTRUNCATE =
      handle("ftruncate", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG), -1);
  private static final MethodHandle POSIX_FALLOCATE =
      handle(
          "posix_fallocate", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG), -1);
  private static final MethodHandle FCHMOD =
      handle("fchmod", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT), -1);
  private static final MethodHandle STATX =
      handle(
          "statx",
          FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT, ADDRESS),
          -1);
  private static final MethodHandle STATVFS =
      handle("statvfs", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS), -1);
  private static final MethodHandle MMAP =
      handle(
          "mmap",
          FunctionDescriptor.of(
              JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG),
          -1);
  private static final MethodHandle MUNMAP =
      handle("munmap", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG), -1);
  private static final MethodHandle MADVISE =
      handle("madvise", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT), -1);
  private static final MethodHandle FCNTL =
      handle("fcntl", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG), 2);
  private static final MethodHandle UMASK =
      handle("umask", FunctionDescriptor.of(JAVA_INT, JAVA_INT), -1);
  private static final MethodHandle NICE =
      handle("nice", FunctionDescriptor.of(JAVA_INT, JAVA_INT), -1);
  private static final MethodHandle GETPAGESIZE =
      handle("getpagesize", FunctionDescriptor.of(JAVA_INT), -1);
  private static final MethodHandle FUTEX =
      handle(
          "syscall",
          FunctionDescriptor.of(
              JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT),
          1);

  private Posix() {}

  // Restricted: linking C functions is what this class is for.
  @SuppressWarnings("restricted")
  private static MethodHandle handle(String name, FunctionDescriptor descriptor, int variadicFrom) {
    MemorySegment address =
        LINKER
            .defaultLookup()
            .find(name)
            .orElseThrow(() ->
                new BatchWeaveException(Kind.CONFIG, "the C library has no function name=" + name));
    Linker.Option capture = Linker.Option.captureCallState("errno");
    return variadicFrom < 0
        ? LINKER.downcallHandle(address, descriptor, capture)
        : LINKER.downcallHandle(
            address, descriptor, capture, Linker.Option.firstVariadicArg(variadicFrom));
  }

  /** A segment that takes the errno of calls; one per thread that calls. */
  static MemorySegment newCapture(Arena arena) {
    return arena.allocate(CAPTURE);
  }

  private static int errno(MemorySegment capture) {
    return (int) ERRNO.get(capture, 0L);
  }

  private static AssertionError unreachable(Throwable thrown) {
    return new AssertionError("a downcall threw", thrown);
  }

  static int open(String path, int flags, int mode) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = newCapture(arena);
      int descriptor;
      do {
        descriptor = (int) OPEN.invokeExact(capture, arena.allocateFrom(path), flags, mode);
      } while (descriptor < 0 && errno(capture) == EINTR);
      return descriptor < 0 ? -errno(capture) : descriptor;
    } catch (Throwable thrown) {
      throw unreachable(thrown);
    }
  }

  static int close(int descriptor) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = newCapture(arena);
      return (int) CLOSE.invokeExact(capture, descriptor) < 0 ? -errno(capture) : 0;
    } catch (Throwable thrown) {
      throw unreachable(thrown);
    }
  }

  /** Of the calling thread alone, on Linux; to more, anybody may. */
  static void addNiceness(int levels) {
    try (Arena arena = Arena.ofConfined()) {
      int _ = (int) NICE.invokeExact(newCapture(arena), levels);
    } catch (Throwable thrown) {
      throw unreachable(thrown);
    }
  }

  static int truncate(int descriptor, long lengthBytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = newCapture(arena);
      return (int) FTRUNCATE.invokeExact(capture, descriptor, lengthBytes) < 0
          ? -errno(capture)
          : 0;
    } catch (Throwable thrown) {
      throw unreachable(thrown);
    }
  }

  static int allocate(int descriptor, long offset, long lengthBytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = newCapture(arena);
      int error;
      do {
        error = (int) POSIX_FALLOCATE.invokeExact(capture, descriptor, offset, lengthBytes);
      } while (error == EINTR);
      return -error;
    } catch (Throwable thrown) {
      throw unreachable(thrown);
    }
  }

  static int changeMode(int descriptor, int mode) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = newCapture(arena);
      return (int) FCHMOD.invokeExact(capture, descriptor, mode) < 0 ? -errno(capture) : 0;
    } catch (Throwable thrown) {
      throw unreachable(thrown);
    }
  }

  /** Fills a struct statx; an empty path means the descriptor itself. */
  static int status(int descriptor, String path, MemorySegment statx) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = newCapture(arena);
      int flags = path.isEmpty() ? AT_EMPTY_PATH : AT_SYMLINK_NOFOLLOW;
      int result =
          (int)
              STATX.invokeExact(
                  capture, descriptor, arena.allocateFrom(path), flags, STATX_BASIC_STATS, statx);
      return result < 0 ? -errno(capture) : 0;
    } catch (Throwable thrown) {
      throw unreachable(thrown);
    }
  }

  static int fileSystem(String path, MemorySegment statvfs) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = newCapture(arena);
      int result = (int) STATVFS.invokeExact(capture, arena.allocateFrom(path), statvfs);
      return result < 0 ? -errno(capture) : 0;
    } catch (Throwable thrown) {
      throw unreachable(thrown);
    }
  }

  /**
   * Maps a range of a file, shared.
   *
   * @param alignment of the address, a power of two: that of huge pages, or the kernel maps the
   *     file in small ones; 1 for none
   */
  static long map(int descriptor, long offset, long lengthBytes, int protection, long alignment) {
    if (alignment == 1) {
      return map(0, lengthBytes, protection, MAP_SHARED, descriptor, offset);
    }
    // Of a reservation that holds an aligned range the range becomes the mapping and the rest goes.
    long reservedBytes = lengthBytes + alignment;
    long reserved = map(0, reservedBytes, 0, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (isError(reserved)) {
      return reserved;
    }
    long aligned = (reserved + alignment - 1) & -alignment;
    long address =
        map(aligned, lengthBytes, protection, MAP_SHARED | MAP_FIXED, descriptor, offset);
    if (isError(address)) {
      unmap(reserved, reservedBytes);
      return address;
    }
    long pageSizeBytes = pageSizeBytes();
    long end = (aligned + lengthBytes + pageSizeBytes - 1) & -pageSizeBytes;
    if (aligned > reserved) {
      unmap(reserved, aligned - reserved);
    }
    if (reserved + reservedBytes > end) {
      unmap(end, reserved + reservedBytes - end);
    }
    return address;
  }

  /** Whether a call that gives an address gave an errno, negated. */
  static boolean isError(long address) {
    return address < 0 && address > -4096;
  }

  private static long map(
      long address, long lengthBytes, int protection, int flags, int descriptor, long offset) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = newCapture(arena);
      long mapped =
          (long)
              MMAP.invokeExact(
                  capture, address, lengthBytes, protection, flags, descriptor, offset);
      return mapped == -1 ? -errno(capture) : mapped;
    } catch (Throwable thrown) {
      throw unreachable(thrown);
    }
  }

  static int unmap(long address, long lengthBytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = newCapture(arena);
      return (int) MUNMAP.invokeExact(capture, address, lengthBytes) < 0 ? -errno(capture) : 0;
    } catch (Throwable thrown) {
      throw unreachable(thrown);
    }
  }

  static int advise(long address, long lengthBytes, int advice) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = newCapture(arena);
      int result = (int) MADVISE.invokeExact(capture, address, lengthBytes, advice);
      return result < 0 ? -errno(capture) : 0;
    } catch (Throwable thrown) {
      throw unreachable(thrown);
    }
  }

  /** One of the OFD lock commands on a struct flock. Allocates nothing. */
  static int lock(MemorySegment capture, int descriptor, int command, long flockAddress) {
    try {
      int result = (int) FCNTL.invokeExact(capture, descriptor, command, flockAddress);
      return result < 0 ? -errno(capture) : 0;
    } catch (Throwable thrown) {
      throw unreachable(thrown);
    }
  }

  static int pageSizeBytes() {
    try (Arena arena = Arena.ofConfined()) {
      return (int) GETPAGESIZE.invokeExact(newCapture(arena));
    } catch (Throwable thrown) {
      throw unreachable(thrown);
    }
  }

  /** Which permission bits files created from now on do not get; returns the mask before. */
  static int fileMask(int mask) {
    try (Arena arena = Arena.ofConfined()) {
      return (int) UMASK.invokeExact(newCapture(arena), mask);
    } catch (Throwable thrown) {
      throw unreachable(thrown);
    }
  }

  /** Waits while the word has the expected value. Allocates nothing. */
  static int futexWait(
      MemorySegment capture, long wordAddress, int expected, long timespecAddress) {
    try {
      long result =
          (long)
              FUTEX.invokeExact(
                  capture, SYS_FUTEX, wordAddress, FUTEX_WAIT, expected, timespecAddress, 0L, 0);
      return result < 0 ? -errno(capture) : 0;
    } catch (Throwable thrown) {
      throw unreachable(thrown);
    }
  }

  /** Wakes every waiter; how many, or minus the errno. Allocates nothing. */
  static int futexWake(MemorySegment capture, long wordAddress) {
    try {
      long result =
          (long)
              FUTEX.invokeExact(
                  capture, SYS_FUTEX, wordAddress, FUTEX_WAKE, Integer.MAX_VALUE, 0L, 0L, 0);
      return result < 0 ? -errno(capture) : (int) result;
    } catch (Throwable thrown) {
      throw unreachable(thrown);
    }
  }

  /** The one translation of an error number into what the caller must do. */
  static NativeMemoryException failure(String what, Object path, int negativeErrno) {
    int errno = -negativeErrno;
    Kind kind =
        switch (errno) {
          case ENOSPC, ENOMEM, EDQUOT, EMFILE, ENFILE -> Kind.LIMIT;
          case EAGAIN, EINTR, ENOENT -> Kind.RETRYABLE;
          default -> Kind.CONFIG;
        };
    String name =
        switch (errno) {
          case EPERM -> "EPERM: not permitted";
          case ENOENT -> "ENOENT: no such file";
          case EAGAIN -> "EAGAIN: held by another process";
          case ENOMEM -> "ENOMEM: no memory";
          case EACCES -> "EACCES: no permission";
          case EEXIST -> "EEXIST: exists";
          case ENOTDIR -> "ENOTDIR: a part of the path is no directory";
          case EISDIR -> "EISDIR: is a directory";
          case EINVAL -> "EINVAL: not supported here";
          case ENFILE -> "ENFILE: too many open files on this machine; raise fs.file-max";
          case EMFILE -> "EMFILE: too many open files in this process; raise ulimit -n";
          case EROFS -> "EROFS: the file system is read-only";
          case ENAMETOOLONG -> "ENAMETOOLONG: too long for a path; use a shorter one";
          case ENOSPC -> "ENOSPC: no space left; free some, or make the file system larger";
          case ELOOP -> "ELOOP: is a symbolic link";
          case EDQUOT -> "EDQUOT: quota exceeded";
          default -> "errno " + errno;
        };
    return new NativeMemoryException(
        kind, errno, "cannot " + what + ": path=" + path + " error=" + name);
  }
}
