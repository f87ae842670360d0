package io.batchweave.bridge.ring;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class EdgesTest {
  private static final Path ABI = Path.of("../native-include/batchweave_abi.h");

  /** What {@code ./batchweave bench --only jcstress} runs, as the annotation processor wrote it. */
  private static String tests() throws IOException {
    try (InputStream list = EdgesTest.class.getResourceAsStream("/META-INF/TestList")) {
      assertNotNull(list, "no stress test was generated");
      return new String(list.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  /** {@code slot-ready} as {@code SlotReadyStress}. */
  private static String className(String edge) {
    StringBuilder name = new StringBuilder();
    for (String word : edge.split("-", -1)) {
      name.append(Character.toUpperCase(word.charAt(0))).append(word, 1, word.length());
    }
    return EdgesTest.class.getPackageName() + "." + name + "Stress";
  }

  @Test
  void shouldStressEveryEdgeThatTheHeaderNames() throws IOException {
    Set<String> edges = new TreeSet<>();
    Matcher matcher = Pattern.compile("\\* SYNC POINT: ([a-z-]+)").matcher(Files.readString(ABI));
    while (matcher.find()) {
      edges.add(matcher.group(1));
    }
    assertTrue(edges.size() >= 9, edges::toString);
    String tests = tests();
    for (String edge : edges) {
      assertTrue(tests.contains(className(edge)), () -> "no stress test of " + edge);
    }
  }
}
