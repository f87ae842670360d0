package io.batchweave.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.format.Grid;
import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class InputFilesTest {
  private static final Charset NAMES = Charset.forName(System.getProperty("sun.jnu.encoding"));

  @TempDir private Path root;

  @BeforeEach
  void setUp() throws IOException {
    for (String name :
        List.of("b.txt", "a.txt", "sub/c.txt", "sub/deep/d.md", ".hidden/e.txt", "sub/.f.txt")) {
      Path file = root.resolve(name);
      Files.createDirectories(file.getParent());
      Files.writeString(file, name);
    }
  }

  @Test
  void shouldSortFilesAndLeaveHiddenOnesOut() {
    assertFound(List.of("a.txt", "b.txt", "sub/c.txt", "sub/deep/d.md"), root.toString());
    assertFound(List.of("a.txt", "b.txt"), root + "/b.txt", root + "/./a.txt", root + "/a.txt");
    assertFound(List.of("sub/.f.txt"), root + "/sub/.f.txt");
    assertFound(List.of(".hidden/e.txt"), root + "/.hidden");
  }

  @Test
  void shouldExpandPatterns() {
    assertFound(List.of("a.txt", "b.txt"), root + "/*.txt");
    assertFound(List.of("sub/c.txt"), root + "/**/*.txt");
    assertFound(List.of("a.txt", "sub/c.txt"), root + "/{a,sub/c}.txt");
    assertFound(List.of("a.txt", "b.txt"), root + "/[ab].txt");
    assertFound(List.of("sub/deep/d.md"), root + "/sub/????/d.*");
    assertFound(List.of(".hidden/e.txt", "sub/.f.txt"), root + "/{.hidden/*,sub/.*}");
  }

  @Test
  void shouldTakeAnExistingNameLiterally() throws IOException {
    Files.writeString(root.resolve("odd[1].txt"), "x");
    assertFound(List.of("odd[1].txt"), root + "/odd[1].txt");
  }

  @Test
  void shouldFollowLinksToFilesOnly() throws IOException {
    Files.createSymbolicLink(root.resolve("link.txt"), root.resolve("a.txt"));
    Files.createSymbolicLink(root.resolve("loop"), root);
    assertFound(
        List.of("a.txt", "b.txt", "link.txt", "sub/c.txt", "sub/deep/d.md"), root.toString());
  }

  @Test
  void shouldNameWhatIsMissingOrEmpty() throws IOException {
    assertRefused("no such file or directory: path=" + root + "/none", root + "/none");
    assertRefused("pattern matches no file", root + "/*.none");
    assertRefused("no such directory", root + "/none/*.txt");
    assertRefused("bad pattern", root + "/[a");
    assertRefused("not a path", "a\0b");
    Files.createDirectory(root.resolve("empty"));
    assertRefused("the input is empty", root + "/empty");
    Files.writeString(root.resolve("empty/zero"), "");
    assertRefused("the input is empty", root + "/empty");
    assertRefused("neither a file nor a directory", "/dev/null");
  }

  @Test
  void shouldNameAnUnreadableFile() throws IOException {
    Path file = root.resolve("a.txt");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("---------"));
    assumeFalse(Files.isReadable(file), "root reads everything");
    assertRefused("cannot read: file=" + file + ": permission denied", file.toString());
  }

  /** Such a name can be listed, but not be asked for by its text. */
  @Test
  void shouldRefuseANameThatIsNoText() throws Exception {
    assumeTrue(
        new String(new byte[] {'b', (byte) 0xe4, 'd'}, NAMES).contains("\ufffd"),
        () -> "every name is text in the encoding of this locale: " + NAMES);
    Process made =
        new ProcessBuilder("sh", "-c", "echo x > \"$(printf 'b\\344d')\"")
            .directory(root.toFile())
            .inheritIO()
            .start();
    assumeTrue(made.waitFor() == 0, "this file system takes no name that is not text");
    assertRefused("not text", root.toString());
    assertRefused("not text", root + "/b*");
  }

  @Test
  void shouldNameAFileThatGoesAwayWhileItIsRead() throws IOException {
    try (FileSource source = FileSource.open(List.of(root.toString()), Shard.ALL)) {
      Files.delete(root.resolve("a.txt"));
      BatchWeaveException e =
          assertThrows(
              BatchWeaveException.class,
              () -> source.read(root.resolve("a.txt").toString(), 0, new byte[1], 1));
      assertTrue(e.toString().contains("it is gone"), e.toString());
    }
  }

  @Test
  void shouldSpreadNumberedFilesOverAllShards() {
    for (String pattern : List.of("%d.txt", "part-%05d", "train/shard-%03d.jsonl")) {
      int[] files = new int[16];
      for (int file = 0; file < 320; file++) {
        for (int shard = 0; shard < files.length; shard++) {
          if (new Shard(shard, files.length).holds(pattern.formatted(file))) {
            files[shard]++;
          }
        }
      }
      assertEquals(320, Arrays.stream(files).sum());
      assertTrue(Arrays.stream(files).min().orElse(0) >= 8, () -> pattern + Arrays.toString(files));
      assertTrue(
          Arrays.stream(files).max().orElse(0) <= 34, () -> pattern + Arrays.toString(files));
    }
  }

  @Test
  void shouldGiveEveryFileToExactlyOneShard() throws IOException {
    for (int i = 0; i < 100; i++) {
      Files.writeString(root.resolve("sub/n" + i), "x");
    }
    List<String> all = paths(Shard.ALL);
    List<String> together = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      List<String> part = paths(new Shard(i, 3));
      assertTrue(part.size() > 20, "shard " + i + " has " + part.size());
      together.addAll(part);
    }
    together.sort(null);
    assertEquals(all, together);
  }

  @Test
  void shouldReadShards() {
    assertEquals(new Shard(1, 2), Shard.parse("1/2"));
    for (String text : List.of("", "1", "2/2", "0/0", "-1/2", "a/b", "1/2/3", "1234567/9999999")) {
      BatchWeaveException e =
          assertThrows(BatchWeaveException.class, () -> Shard.parse(text), text);
      assertEquals(Kind.CONFIG, e.kind());
    }
  }

  @Test
  void shouldIngestAndVerifyRealFiles() {
    IngestContext context =
        new IngestContext().inputs(List.of(root.toString())).sequenceLength(8).globalBatch(2);
    MemorySink sink = new MemorySink(new Grid(2, 1));
    try (FileSource source = FileSource.open(context.inputs(), context.shard())) {
      IngestTotals totals = Ingest.run(context, sink, source);
      assertEquals(4, totals.documents());
    }
    try (IngestVerifier verifier = new IngestVerifier(context)) {
      for (int i = 0; i < sink.batches().size(); i++) {
        verifier.accept(i, sink.grid(), sink.slices(i));
      }
      assertEquals(null, verifier.verdict().problem());
    }
  }

  private List<String> paths(Shard shard) {
    try (FileSource source = FileSource.open(List.of(root.toString()), shard)) {
      return source.files().stream().map(ByteSource.SourceFile::path).toList();
    }
  }

  private void assertFound(List<String> expected, String... inputs) {
    assertEquals(
        expected,
        InputFiles.find(List.of(inputs)).keySet().stream()
            .map(path -> root.relativize(path).toString())
            .toList());
  }

  private static void assertRefused(String what, String... inputs) {
    BatchWeaveException e =
        assertThrows(
            BatchWeaveException.class, () -> FileSource.open(List.of(inputs), Shard.ALL).close());
    assertEquals(Kind.CONFIG, e.kind());
    assertTrue(e.toString().contains(what), e.toString());
  }
}
