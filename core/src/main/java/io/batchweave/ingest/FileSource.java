package io.batchweave.ingest;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Files of this machine as a source. */
final class FileSource implements ByteSource {
  private final List<SourceFile> files;
  private @Nullable String openPath;
  private @Nullable FileChannel open;

  private FileSource(List<SourceFile> files) {
    this.files = List.copyOf(files);
  }

  /**
   * Finds the files.
   *
   * @param inputs files, directories and patterns
   * @param shard which of them are ours
   * @throws BatchWeaveException CONFIG if one is missing or unreadable, or there is no byte in all
   *     of them
   */
  static FileSource open(List<String> inputs, Shard shard) {
    Map<Path, String> found = InputFiles.find(inputs);
    List<SourceFile> files = new ArrayList<>();
    long allBytes = 0;
    for (Map.Entry<Path, String> entry : found.entrySet()) {
      long sizeBytes = sizeBytes(entry.getKey());
      allBytes += sizeBytes;
      if (shard.holds(entry.getValue())) {
        files.add(new SourceFile(entry.getKey().toString(), sizeBytes));
      }
    }
    if (allBytes == 0) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "the input is empty: inputs="
              + inputs
              + " files="
              + found.size()
              + "; name files with something in them (names that begin with '.' are left out)");
    }
    return new FileSource(files);
  }

  private static long sizeBytes(Path file) {
    try {
      return Files.size(file);
    } catch (IOException e) {
      throw InputFiles.unreadable(file, e);
    }
  }

  @Override
  public List<SourceFile> files() {
    return files;
  }

  @Override
  public int read(String path, long offset, byte[] target, int length) {
    ByteBuffer buffer = ByteBuffer.wrap(target, 0, length);
    try {
      FileChannel channel = channel(path);
      int read = 0;
      while (buffer.hasRemaining() && read >= 0) {
        read = channel.read(buffer, offset + buffer.position());
      }
    } catch (IOException e) {
      throw InputFiles.unreadable(Path.of(path), e);
    }
    return buffer.position();
  }

  private FileChannel channel(String path) throws IOException {
    FileChannel channel = open;
    if (channel == null || !path.equals(openPath)) {
      close();
      channel = FileChannel.open(Path.of(path), StandardOpenOption.READ);
      open = channel;
      openPath = path;
    }
    return channel;
  }

  @Override
  public void close() {
    FileChannel closing = open;
    open = null;
    openPath = null;
    if (closing != null) {
      try {
        closing.close();
      } catch (IOException e) {
        throw new UncheckedIOException("cannot close a file that was only read", e);
      }
    }
  }
}
