package io.batchweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;

/** A producer in a JVM of its own, and what it has printed so far. Killed when closed. */
final class ChildProducer implements AutoCloseable {
  private static final long DEADLINE_NS = TimeUnit.SECONDS.toNanos(280);

  private final Process process;
  private final Thread reader;
  private final List<String> lines = new ArrayList<>();
  private boolean ended;

  private ChildProducer(Process process) {
    this.process = process;
    this.reader = new Thread(this::read, "child-" + process.pid());
    this.reader.setDaemon(true);
    this.reader.start();
  }

  /**
   * Starts one.
   *
   * @param environment added to that of this process
   * @param main the class to run
   * @param arguments options of the JVM, each beginning with {@code -D}, then those of the class
   */
  static ChildProducer start(Map<String, String> environment, Class<?> main, String... arguments)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx128m"));
    command.addAll(List.of("-XX:-UsePerfData", "--enable-native-access=ALL-UNNAMED"));
    command.addAll(List.of("--add-opens", "java.base/jdk.internal.misc=ALL-UNNAMED"));
    List<String> given = List.of(arguments);
    command.addAll(given.stream().filter(argument -> argument.startsWith("-D")).toList());
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    command.addAll(given.stream().filter(argument -> !argument.startsWith("-D")).toList());
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().putAll(environment);
    return new ChildProducer(builder.start());
  }

  private void read() {
    try (BufferedReader output = process.inputReader(StandardCharsets.UTF_8)) {
      for (String line = output.readLine(); line != null; line = output.readLine()) {
        synchronized (this) {
          lines.add(line);
          notifyAll();
        }
      }
    } catch (IOException e) {
      // The pipe of a killed process.
    }
    synchronized (this) {
      ended = true;
      notifyAll();
    }
  }

  /** All lines so far. */
  synchronized List<String> lines() {
    return List.copyOf(lines);
  }

  /** The last few lines, for messages. */
  synchronized String end() {
    int count = lines.size();
    return count + " lines, the last: " + lines.subList(Math.max(0, count - 4), count);
  }

  /** Batches reported as committed so far. */
  synchronized int acks() {
    return (int) lines.stream().filter(line -> line.startsWith("acked ")).count();
  }

  /** Waits until there are so many such lines. */
  void await(int count, Predicate<String> line) {
    long deadlineNs = System.nanoTime() + DEADLINE_NS;
    synchronized (this) {
      while (lines.stream().filter(line).count() < count) {
        if (ended || System.nanoTime() - deadlineNs >= 0) {
          break;
        }
        try {
          TimeUnit.NANOSECONDS.timedWait(this, TimeUnit.MILLISECONDS.toNanos(200));
        } catch (InterruptedException e) {
          throw new AssertionError(e);
        }
      }
      if (lines.stream().filter(line).count() >= count) {
        return;
      }
    }
    throw new AssertionError("not said: " + end() + stacks());
  }

  /** What its threads do: for a process that should have gone on, or ended. */
  private String stacks() {
    if (!process.isAlive()) {
      return "";
    }
    signal("QUIT");
    long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (process.isAlive()
        && System.nanoTime() - deadlineNs < 0
        && lines().stream().noneMatch(line -> line.startsWith("JNI global ref"))) {
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
    }
    List<String> all = lines();
    int from = 0;
    for (int i = 0; i < all.size(); i++) {
      if (all.get(i).startsWith("Full thread dump")) {
        from = i;
      }
    }
    return "\n" + String.join("\n", all.subList(from, all.size()));
  }

  /** Waits until so many batches are reported as committed. */
  void awaitAcks(int count) {
    await(count, line -> line.startsWith("acked "));
  }

  /** Sends a signal by its name. */
  void signal(String name) {
    try {
      Process kill = new ProcessBuilder("kill", "-" + name, "" + process.pid()).start();
      assertEquals(0, kill.waitFor(), "kill -" + name);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** Waits until it has been stopped by a signal. */
  void awaitStopped() throws IOException {
    long deadlineNs = System.nanoTime() + DEADLINE_NS;
    Path stat = Path.of("/proc/" + process.pid() + "/stat");
    while (!Files.readString(stat).contains(") T ")) {
      assertTrue(System.nanoTime() - deadlineNs < 0, () -> "never stopped: " + end());
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
    }
  }

  boolean running() {
    return process.isAlive();
  }

  /** Completes soon after it has ended. */
  CompletableFuture<?> onExit() {
    return process.onExit();
  }

  /** Waits for its end and all it says. */
  int exitCode() {
    try {
      assertTrue(
          process.waitFor(DEADLINE_NS, TimeUnit.NANOSECONDS), () -> "runs on: " + end() + stacks());
      reader.join();
      return process.exitValue();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** Kills it as nothing can prevent, and waits until it is gone. */
  void kill() {
    process.destroyForcibly();
    assertEquals(ProducerMain.HALTED, exitCode(), this::end);
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
