package io.batchweave.ingest;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystems;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/**
 * Arguments to files. A file is itself; a directory is every regular file below it; a pattern
 * ({@code *}, {@code **}, {@code ?}, {@code [ab]}, {@code {a,b}}) that names no existing file is
 * what it matches. Below directories and patterns, names that begin with {@code .} are left out
 * (unless the pattern itself has such a part) and links to directories are not followed; links to
 * files are.
 */
final class InputFiles {
  private static final Pattern WILD = Pattern.compile("[*?\\[{]");

  private InputFiles() {}

  /**
   * Finds all files.
   *
   * @return absolute path to the name below its argument, sorted by the path as text
   * @throws BatchWeaveException CONFIG naming what is missing or unreadable
   */
  static Map<Path, String> find(List<String> inputs) {
    Map<Path, String> found = new TreeMap<>(Comparator.comparing(Path::toString));
    for (String input : inputs) {
      find(input, found);
    }
    for (Path file : found.keySet()) {
      if (!Files.isReadable(file)) {
        throw unreadable(file, new AccessDeniedException(file.toString()));
      }
    }
    return found;
  }

  private static void find(String input, Map<Path, String> found) {
    Path path = path(input);
    if (Files.isRegularFile(path)) {
      add(path, name(path.getFileName()), found);
    } else if (Files.isDirectory(path)) {
      walk(path, file -> true, HiddenNames.LEFT_OUT, found);
    } else if (Files.exists(path)) {
      throw new BatchWeaveException(
          Kind.CONFIG, "neither a file nor a directory: path=" + input + "; name regular files");
    } else if (WILD.matcher(input).find()) {
      expand(input, found);
    } else {
      throw new BatchWeaveException(
          Kind.CONFIG, "no such file or directory: path=" + input + "; check the path");
    }
  }

  private static Path path(String input) {
    try {
      return Path.of(input).toAbsolutePath().normalize();
    } catch (InvalidPathException e) {
      throw new BatchWeaveException(
          Kind.CONFIG, "not a path: path=" + input + ": " + e.getReason(), e);
    }
  }

  private static void expand(String input, Map<Path, String> found) {
    int wild = input.length();
    int slash = -1;
    for (int i = 0; i < wild; i++) {
      if (input.charAt(i) == '/') {
        slash = i;
      } else if (WILD.matcher(input.substring(i, i + 1)).matches()) {
        wild = i;
      }
    }
    Path base = path(slash < 0 ? "." : slash == 0 ? "/" : input.substring(0, slash));
    String glob = input.substring(slash + 1);
    if (!Files.isDirectory(base)) {
      throw new BatchWeaveException(
          Kind.CONFIG, "no such directory: path=" + base + " pattern=" + input);
    }
    PathMatcher matcher;
    try {
      matcher = FileSystems.getDefault().getPathMatcher("glob:" + glob);
    } catch (PatternSyntaxException e) {
      throw new BatchWeaveException(
          Kind.CONFIG, "bad pattern: pattern=" + input + ": " + e.getDescription(), e);
    }
    HiddenNames hidden =
        glob.startsWith(".") || glob.contains("/.") ? HiddenNames.SEEN : HiddenNames.LEFT_OUT;
    int before = found.size();
    if (walk(base, file -> matcher.matches(base.relativize(file)), hidden, found) == 0) {
      throw new BatchWeaveException(
          Kind.CONFIG, "pattern matches no file: pattern=" + input + " found=" + before);
    }
  }

  private enum HiddenNames {
    LEFT_OUT,
    SEEN
  }

  private static int walk(
      Path base, Predicate<Path> wanted, HiddenNames hidden, Map<Path, String> found) {
    int[] matches = new int[1];
    try {
      Files.walkFileTree(
          base,
          new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes ignored) {
              return directory.equals(base) || seen(directory)
                  ? FileVisitResult.CONTINUE
                  : FileVisitResult.SKIP_SUBTREE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes ignored) {
              if (seen(file) && Files.isRegularFile(file) && wanted.test(file)) {
                add(file, name(base.relativize(file)), found);
                matches[0]++;
              }
              return FileVisitResult.CONTINUE;
            }

            private boolean seen(Path path) {
              return hidden == HiddenNames.SEEN || !name(path.getFileName()).startsWith(".");
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException e) {
              throw unreadable(file, e);
            }
          });
    } catch (IOException e) {
      throw unreadable(base, e);
    }
    return matches[0];
  }

  /** Files are remembered by their names as text, which must lead back to them. */
  private static void add(Path file, String name, Map<Path, String> found) {
    boolean text;
    try {
      text = Path.of(file.toString()).equals(file);
    } catch (InvalidPathException e) {
      text = false;
    }
    if (!text) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "the name of a file is not text in the encoding of this locale: file="
              + file
              + "; rename it, or set LC_ALL=C.UTF-8");
    }
    found.putIfAbsent(file, name);
  }

  private static String name(Path relative) {
    return relative.toString().replace('\\', '/');
  }

  static BatchWeaveException unreadable(Path file, IOException e) {
    String reason =
        switch (e) {
          case NoSuchFileException gone -> "it is gone";
          case AccessDeniedException denied -> "permission denied";
          default -> String.valueOf(e.getMessage());
        };
    return new BatchWeaveException(
        Kind.CONFIG, "cannot read: file=" + file + ": " + reason + "; make it readable", e);
  }
}
