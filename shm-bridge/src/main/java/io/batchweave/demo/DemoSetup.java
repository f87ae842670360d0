package io.batchweave.demo;

import io.batchweave.BatchWeaveException;
import io.batchweave.bridge.daemon.DaemonContext;
import io.batchweave.ingest.Ingest;
import io.batchweave.ingest.IngestContext;
import io.batchweave.ingest.Shard;
import io.batchweave.store.s3proxy.LocalS3;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What must stand before the demo's processes start, and goes when they have ended. */
public final class DemoSetup implements AutoCloseable {
  /** Sources of this repository that make a good default input. */
  private static final List<String> DEFAULT_INPUTS =
      List.of("README.md", "core/src", "shm-bridge/src", "native-include");

  private static final String BUCKET = "batchweave-demo";

  /** Where the stream lies. */
  public enum Place {
    /** An embedded file store in the working directory. */
    FILE,
    /** An S3 endpoint in this process. */
    LOCAL_S3,
    /** Below a root that the user names. */
    URL
  }

  private final DemoPlan plan;
  private final @Nullable LocalS3 s3;
  private final long expectedSteps;
  private final String inputSummary;
  private boolean keep;
  private boolean closed;

  private DemoSetup(DemoPlan plan, @Nullable LocalS3 s3, long expectedSteps, String inputSummary) {
    this.plan = plan;
    this.s3 = s3;
    this.expectedSteps = expectedSteps;
    this.inputSummary = inputSummary;
  }

  /**
   * Looks at the input, finds a Python, makes the directories and starts the endpoint.
   *
   * @param place where the stream lies
   * @param url the root for {@link Place#URL}, else null
   * @param inputs what to ingest; empty for the sources of the repository
   * @param environment variables; {@code BATCHWEAVE_ROOT} names the repository
   * @throws BatchWeaveException CONFIG if an input is missing or empty
   * @throws IOException if a directory cannot be made
   */
  public static DemoSetup prepare(
      Place place, @Nullable String url, List<String> inputs, Map<String, String> environment)
      throws IOException {
    Path root = Path.of(environment.getOrDefault("BATCHWEAVE_ROOT", ".")).toAbsolutePath();
    List<String> paths =
        inputs.isEmpty()
            ? DEFAULT_INPUTS.stream().map(name -> root.resolve(name).toString()).toList()
            : inputs;
    int files = 0;
    long bytes = 0;
    long steps = 0;
    long stepTokens = (long) DemoPlan.SEQUENCE_TOKENS * DemoPlan.GLOBAL_BATCH;
    for (int i = 0; i < DemoPlan.PRODUCERS; i++) {
      Shard shard = new Shard(i, DemoPlan.PRODUCERS);
      Ingest.Survey survey = Ingest.survey(new IngestContext().inputs(paths).shard(shard));
      files += survey.files();
      bytes += survey.bytes();
      steps += (survey.bytes() + survey.files() + stepTokens - 1) / stepTokens;
    }
    PythonRanks python = PythonRanks.find(root, environment);
    Path work = Files.createTempDirectory("batchweave-demo-");
    Path shm =
        DaemonContext.defaultDirectory(environment).resolveSibling("demo-" + work.getFileName());
    String storeUrl = work.resolve("store").toUri().toString();
    Map<String, String> variables = Map.of();
    LocalS3 s3 = null;
    if (place == Place.LOCAL_S3) {
      s3 = LocalS3.start(work.resolve("s3"));
      s3.createBucket(BUCKET);
      storeUrl = s3.url(BUCKET, "stream");
      variables = s3.environment();
    } else if (place == Place.URL && url != null) {
      storeUrl = below(url, "demo-" + UUID.randomUUID().toString().substring(0, 8));
    }
    DemoPlan plan = new DemoPlan(root, work, shm, storeUrl, variables, paths, python);
    return new DemoSetup(
        plan, s3, steps, String.format("%d files, %.1f MiB", files, bytes / (double) (1 << 20)));
  }

  /** A root below another; the settings stay behind it. */
  static String below(String url, String name) {
    int query = url.indexOf('?');
    String path = query < 0 ? url : url.substring(0, query);
    return path + (path.endsWith("/") ? "" : "/") + name + (query < 0 ? "" : url.substring(query));
  }

  /** What the demo does. */
  public DemoPlan plan() {
    return plan;
  }

  /** Steps that the input will make, within a few. */
  public long expectedSteps() {
    return expectedSteps;
  }

  /** The input in a few words. */
  public String inputSummary() {
    return inputSummary;
  }

  /** Leaves the working directory where it is. */
  public void keep() {
    keep = true;
  }

  /** Takes everything away that was made here. Idempotent; any thread may do it. */
  @Override
  public synchronized void close() throws IOException {
    if (closed) {
      return;
    }
    closed = true;
    if (s3 != null) {
      s3.close();
    }
    deleteTree(plan.shmDirectory());
    if (!keep) {
      deleteTree(plan.workDirectory());
    }
  }

  private static void deleteTree(Path directory) throws IOException {
    if (Files.notExists(directory)) {
      return;
    }
    try (Stream<Path> paths = Files.walk(directory)) {
      for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(path);
      }
    }
  }
}
