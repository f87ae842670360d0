package io.batchweave.ingest;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Files in memory. */
final class MemorySource implements ByteSource {
  private final Map<String, byte[]> files = new TreeMap<>();

  MemorySource put(String path, String text) {
    return put(path, text.getBytes(StandardCharsets.UTF_8));
  }

  MemorySource put(String path, byte[] bytes) {
    files.put(path, bytes.clone());
    return this;
  }

  MemorySource append(String path, String text) {
    byte[] more = text.getBytes(StandardCharsets.UTF_8);
    byte[] old = files.getOrDefault(path, new byte[0]);
    byte[] all = Arrays.copyOf(old, old.length + more.length);
    System.arraycopy(more, 0, all, old.length, more.length);
    files.put(path, all);
    return this;
  }

  MemorySource remove(String path) {
    files.remove(path);
    return this;
  }

  Map<String, byte[]> contents() {
    return files;
  }

  @Override
  public List<SourceFile> files() {
    return files.entrySet().stream()
        .map(entry -> new SourceFile(entry.getKey(), entry.getValue().length))
        .toList();
  }

  @Override
  public int read(String path, long offset, byte[] target, int length) {
    byte[] bytes = files.get(path);
    if (bytes == null) {
      throw new BatchWeaveException(Kind.CONFIG, "gone: file=" + path);
    }
    int read = Math.clamp(bytes.length - offset, 0, length);
    System.arraycopy(bytes, (int) offset, target, 0, read);
    return read;
  }

  @Override
  public void close() {}
}
