package io.batchweave.demo;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.demo.DemoSetup.Place;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.agrona.concurrent.SystemNanoClock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The main job, with real processes: the repository's sources, two SIGKILLs, every promise. */
@Timeout(300)
class DemoTest {
  @Test
  void shouldKeepEveryPromiseWhileAProducerAndARankAreKilled() throws Exception {
    Map<String, String> environment = new HashMap<>(System.getenv());
    environment.put("BATCHWEAVE_ROOT", System.getProperty("batchweave.root", ".."));
    StringWriter said = new StringWriter();
    Path work;
    Path shm;
    try (DemoSetup setup = DemoSetup.prepare(Place.FILE, null, List.of(), environment)) {
      work = setup.plan().workDirectory();
      shm = setup.plan().shmDirectory();
      try (Demo demo =
          new Demo(setup.plan(), new PrintWriter(said, true), SystemNanoClock.INSTANCE)) {
        Verdict verdict = demo.run(setup.expectedSteps());
        assertTrue(verdict.holds(), () -> verdict + "\n" + said);
      }
    }
    assertFalse(Files.exists(work), "left behind: " + work);
    assertFalse(Files.exists(shm), "left behind: " + shm);
  }
}
