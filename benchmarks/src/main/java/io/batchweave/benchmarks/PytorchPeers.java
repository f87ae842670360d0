package io.batchweave.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;

/**
 * Question: how fast, and at what cost of processor time, do batches of tensors come from one S3
 * endpoint to a PyTorch trainer by StepLoader, by torch's DataLoader with workers, by MosaicML's
 * StreamingDataset and by WebDataset?
 *
 * <p>Ceiling: the AWS CRT's client alone that gets the plain loader's objects, four at a time, into
 * a file in memory: nobody has a batch before its bytes are there.
 *
 * <p>The same batches for all: 32 pictures of 3 x 224 x 224 bytes with 512 tokens each, 4.9 MB.
 * Each loader gets them in the form that its documentation advises and as far ahead as the others:
 *
 * <ul>
 *   <li>StepLoader: a slice per step; the daemon's ring of 48 MiB holds ten;
 *   <li>DataLoader: a safetensors object per step, made beforehand, so that a worker has nothing to
 *       do but one GET by boto3 on a kept connection, checksums off. Samples as objects of their
 *       own would be 32 requests per step;
 *   <li>MosaicML: MDS shards of 64 MiB, uncompressed, its own defaults for what to load ahead, no
 *       shuffling. Its first epoch, and one from the shards that the first one left on the disk;
 *   <li>WebDataset: tar shards of 55 MiB through curl, batches made in the workers.
 * </ul>
 *
 * <p>All three have as many workers as there are cores, from two to four, with four batches ahead
 * each. In turn, each in a process of its own that lives through all rounds. A pass has steps that
 * are not counted, steps as fast as they come, which say MB/s and processor time, and steps with a
 * pause before each, which say what {@code next()} takes when the data are there. Processor time is
 * that of daemon, trainer, workers and curl; the server's is apart. Every page of a batch is
 * touched. The figure is the least of all ratios, MosaicML's from its own disk among them.
 */
final class PytorchPeers implements Bar {
  private static final double MIB = 1 << 20;
  private static final int ROUNDS = 5;
  private static final int QUICK_ROUNDS = 2;
  private static final int BARE_AT_ONCE = 4;
  private static final String OURS = "batchweave";
  private static final String COLD = "cold";
  private static final String WARM = "warm";
  private static final String CACHING = "mosaic";
  private static final List<String> LOADERS = List.of(OURS, "dataloader", CACHING, "webdataset");

  /** How many steps a pass has of each kind. */
  private record Steps(int warmup, int counted, int ready) {
    int all() {
      return warmup + counted + ready;
    }
  }

  private static final Steps FULL = new Steps(8, 48, 40);
  private static final Steps QUICK = new Steps(8, 24, 16);

  /** What one loader's passes of one kind came to. */
  private static final class Passes {
    final Sample megabytesPerSecond = new Sample();
    final Sample samplesPerSecond = new Sample();
    final Sample cpuMsPerMib = new Sample();
    final Sample serverMsPerMib = new Sample();
    final Sample firstSeconds = new Sample();
    final Sample readyMicros = new Sample();

    void add(JsonNode pass) {
      double bytes = pass.get("bytes").asDouble();
      double seconds = pass.get("seconds").asDouble();
      megabytesPerSecond.add(bytes / 1e6 / seconds);
      samplesPerSecond.add(pass.get("samples").asDouble() / seconds);
      cpuMsPerMib.add(pass.get("cpuSeconds").asDouble() * 1e3 / (bytes / MIB));
      serverMsPerMib.add(pass.get("serverSeconds").asDouble() * 1e3 / (bytes / MIB));
      firstSeconds.add(pass.get("firstSeconds").asDouble());
      pass.get("readyMicros").forEach(micros -> readyMicros.add(micros.asDouble()));
    }
  }

  /** What is the same for all while they are measured. */
  private record Rig(
      BenchRun run,
      PythonEnvironment python,
      LoopbackS3 server,
      Path work,
      Path shared,
      Steps steps) {}

  @Override
  public String name() {
    return "pytorch-peers";
  }

  @Override
  public String question() {
    return "the same tensors from one S3 endpoint by StepLoader, DataLoader workers, MosaicML, WebDataset";
  }

  @Override
  public Verdict measure(BenchRun run) throws Exception {
    PythonEnvironment python = PeersEnvironment.make(run);
    PythonEnvironment.find().buildExtension(run);
    Path work = DirectoryTree.make(Path.of(System.getProperty("java.io.tmpdir")));
    Path shared = DirectoryTree.make(Path.of("/dev/shm"));
    try (LoopbackS3 server = LoopbackS3.start(work.resolve("server"))) {
      Steps steps = run.pace() == BenchRun.Pace.FULL ? FULL : QUICK;
      Rig rig = new Rig(run, python, server, work, shared, steps);
      long bytes = write(rig);
      Map<String, Passes> passes = new LinkedHashMap<>();
      Sample bare = new Sample();
      try (NodeDaemon daemon =
          NodeDaemon.start(server.environment(), server.url(), shared.resolve("node"), "48MiB")) {
        measure(rig, daemon, bytes, passes, bare);
      }
      return report(run, passes, bare);
    } finally {
      DirectoryTree.delete(work);
      DirectoryTree.delete(shared);
    }
  }

  private static int workers() {
    return Math.clamp(Runtime.getRuntime().availableProcessors(), 2, 4);
  }

  private static Path settings(Rig rig, long daemon) throws IOException {
    Map<String, Object> settings = new HashMap<>();
    settings.put("endpoint", rig.server().endpoint());
    settings.put("bucket", LoopbackS3.BUCKET);
    settings.put("steps", rig.steps().all());
    settings.put("warmup", rig.steps().warmup());
    settings.put("counted", rig.steps().counted());
    settings.put("ready", rig.steps().ready());
    settings.put("pause_s", 0.04);
    settings.put("workers", workers());
    settings.put("prefetch", 4);
    settings.put("stream", rig.server().url());
    settings.put("directory", rig.shared().resolve("node").toString());
    settings.put("daemon", daemon);
    settings.put("server", rig.server().pid());
    settings.put("work", rig.work().toString());
    Path file = rig.work().resolve("settings.json");
    return Files.writeString(file, new ObjectMapper().writeValueAsString(settings));
  }

  /** Brings the steps to the store in every form; the length of an object of the plain loader. */
  private static long write(Rig rig) throws IOException, InterruptedException {
    long beganNs = System.nanoTime();
    ProcessBuilder data = rig.python().program("peer_data.py", settings(rig, 0).toString());
    data.environment().putAll(rig.server().environment());
    PythonEnvironment.lines(data);
    Path slices = rig.work().resolve("slices");
    StringBuilder lines = new StringBuilder();
    for (int step = 0; step < rig.steps().all(); step++) {
      Path slice = slices.resolve(step + ".safetensors");
      lines.append(
          "{\"slices\":[\"" + slice + "\"],\"state\":" + step + ",\"origin\":\"bench\"}\n");
    }
    Path input = Files.writeString(rig.work().resolve("batches"), lines);
    Map<String, String> environment = rig.server().environment();
    String url = rig.server().url();
    Path nothing = Path.of("/dev/null");
    Command.run(environment, nothing, "init", url, "--dp", "1");
    Command.run(environment, input, "produce", url, "--producer", "bench");
    Command.run(environment, nothing, "seal", url);
    long bytes = Files.size(slices.resolve("0.safetensors"));
    DirectoryTree.delete(slices);
    DirectoryTree.delete(rig.work().resolve("mds"));
    rig.run()
        .say(
            "  server %s, %d steps of %.2f MB written four times in %.0f s; %d workers"
                .formatted(
                    rig.server().server(),
                    rig.steps().all(),
                    bytes / 1e6,
                    (System.nanoTime() - beganNs) / 1e9,
                    workers()));
    return bytes;
  }

  private static void measure(
      Rig rig, NodeDaemon daemon, long bytes, Map<String, Passes> passes, Sample bare)
      throws IOException, InterruptedException {
    Path settings = settings(rig, daemon.pid());
    Deque<LoaderProcess> loaders = new ArrayDeque<>();
    try (BareS3 client = new BareS3(rig.server())) {
      for (String name : LOADERS) {
        loaders.add(
            new LoaderProcess(
                rig.python(), name, settings, rig.server().environment(), rig.work()));
      }
      for (LoaderProcess loader : loaders) {
        loader.awaitReady();
      }
      // One that is not counted, of each: caches of the server, what the daemon's JVM compiles.
      for (LoaderProcess loader : loaders) {
        loader.pass(COLD);
      }
      boolean full = rig.run().pace() == BenchRun.Pace.FULL;
      for (int round = 0; round < (full ? ROUNDS : QUICK_ROUNDS); round++) {
        rig.run().say("  round " + (round + 1));
        bare.add(bare(rig, client, bytes));
        for (LoaderProcess loader : loaders) {
          add(passes, loader, COLD);
          if (loader.name().equals(CACHING)) {
            add(passes, loader, WARM);
          }
        }
        loaders.addLast(loaders.removeFirst()); // each in turn begins a round
      }
    } finally {
      loaders.forEach(LoaderProcess::close);
    }
  }

  private static void add(Map<String, Passes> passes, LoaderProcess loader, String how)
      throws IOException, InterruptedException {
    passes
        .computeIfAbsent(loader.name() + " " + how, ignored -> new Passes())
        .add(loader.pass(how));
  }

  /** MB/s of a client that does nothing else. */
  private static double bare(Rig rig, BareS3 client, long bytes) throws IOException {
    Path file = rig.shared().resolve("bare");
    try {
      Files.write(file, new byte[Math.toIntExact(BARE_AT_ONCE * bytes)]);
      Deque<CompletableFuture<Void>> inFlight = new ArrayDeque<>();
      long beganNs = System.nanoTime();
      for (int step = 0; step < rig.steps().all(); step++) {
        if (inFlight.size() == BARE_AT_ONCE) {
          inFlight.removeFirst().join();
        }
        String path = "/" + LoopbackS3.BUCKET + "/objects/" + step;
        inFlight.addLast(client.begin(path, bytes, file, step % BARE_AT_ONCE * bytes));
      }
      inFlight.forEach(CompletableFuture::join);
      return rig.steps().all() * bytes / 1e6 / ((System.nanoTime() - beganNs) / 1e9);
    } finally {
      Files.deleteIfExists(file);
    }
  }

  private Verdict report(BenchRun run, Map<String, Passes> all, Sample bare) {
    Passes ours = of(all, OURS + " " + COLD);
    List<String> others = new ArrayList<>(all.keySet());
    others.remove(OURS + " " + COLD);
    others.sort(null);
    run.say("  batchweave against    MB/s       [95 %]            next() ready p50    CPU per MiB");
    Passes best = null;
    Sample least = new Sample();
    for (String other : others) {
      Passes theirs = of(all, other);
      Sample faster = ours.megabytesPerSecond.over(theirs.megabytesPerSecond);
      Sample.Interval interval = faster.interval();
      run.say(
          "  %-18s %7.2f x  [%.2f, %.2f]   %10.4f x     %12.3f x"
              .formatted(
                  other,
                  faster.median(),
                  interval.low(),
                  interval.high(),
                  ours.readyMicros.median() / theirs.readyMicros.median(),
                  ours.cpuMsPerMib.over(theirs.cpuMsPerMib).median()));
      if (best == null || faster.median() < least.median()) {
        least = faster;
        best = theirs;
      }
    }
    run.say(
        "                     n   MB/s  samples/s  next() us p50      p99"
            + "   CPU ms/MiB  server ms/MiB  first batch s");
    all.forEach((name, passes) -> run.say(line(name, passes)));
    run.say("  bare CRT GET %d at once: %.0f MB/s".formatted(BARE_AT_ONCE, bare.median()));
    if (best == null) {
      throw new IllegalStateException("no other loader was measured");
    }
    return Verdict.reported(
        name(), least, "x the best other loader's MB/s", bare.over(best.megabytesPerSecond));
  }

  private static String line(String name, Passes passes) {
    return "  %-18s %3d %6.0f %10.0f %14.1f %8.1f %12.2f %14.2f %14.2f"
        .formatted(
            name,
            passes.megabytesPerSecond.count(),
            passes.megabytesPerSecond.median(),
            passes.samplesPerSecond.median(),
            passes.readyMicros.median(),
            passes.readyMicros.quantile(0.99),
            passes.cpuMsPerMib.median(),
            passes.serverMsPerMib.median(),
            passes.firstSeconds.median());
  }

  private static Passes of(Map<String, Passes> all, String name) {
    Passes passes = all.get(name);
    if (passes == null) {
      throw new IllegalStateException("was not measured: loader=" + name);
    }
    return passes;
  }
}
