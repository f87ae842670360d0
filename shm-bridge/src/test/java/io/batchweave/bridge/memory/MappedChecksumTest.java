package io.batchweave.bridge.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.batchweave.bridge.SharedDirectory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class MappedChecksumTest {
  private static final int LENGTH = 1 << 20;

  private final NativeMemory memory = NativeMemory.system();
  private final MappedChecksum checksum = new MappedChecksum();
  private final byte[] bytes = new byte[LENGTH];
  private SharedDirectory directory;
  private SharedFile file;
  private Mapping mapping;

  @BeforeEach
  void map() throws IOException {
    directory = SharedDirectory.create();
    file = memory.open(directory.path().resolve("data"), FileAccess.CREATE);
    file.allocateNew(LENGTH, 0600);
    mapping = file.map(LENGTH, Protection.READ_WRITE);
    new Random(1).nextBytes(bytes);
    MemorySegment.copy(MemorySegment.ofArray(bytes), 0, mapping.segment(), 0, LENGTH);
  }

  @AfterEach
  void unmap() throws IOException {
    mapping.close();
    file.close();
    directory.close();
  }

  private int expected(int position, int length) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, position, length);
    return (int) crc.getValue();
  }

  @Test
  void shouldBeTheChecksumOfAnyPart() {
    for (int length : new int[] {0, 1, 4095, 4096, 4097, 8192, 100_000, LENGTH - 13}) {
      assertEquals(expected(13, length), checksum.crc32c(mapping.segment(), 13, length));
    }
    assertThrows(
        IndexOutOfBoundsException.class, () -> checksum.crc32c(mapping.segment(), 1, LENGTH));
  }

  /** Native code that reads the mapping itself would kill the process here. */
  @Test
  void shouldFailWithAnErrorWhenTheFileIsCutShort() {
    file.truncate(LENGTH / 2);
    assertThrows(InternalError.class, () -> checksum.crc32c(mapping.segment(), 0, LENGTH));
    assertEquals(expected(0, 4096), checksum.crc32c(mapping.segment(), 0, 4096));
  }
}
