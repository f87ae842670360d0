package io.batchweave.bridge.handshake;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.Subscription;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.batchweave.bridge.NativeProgram;
import io.batchweave.bridge.NativeProgram.Build;
import io.batchweave.bridge.NativeProgram.Outcome;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.AgentRunner;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.SystemEpochClock;
import org.agrona.concurrent.SystemNanoClock;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The C Aeron client ({@code batchweave_aeron.h}) against Aeron's own media driver and client. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class NativeAeronTest {
  private static final int STREAM = HandshakeProtocol.HELLO_STREAM_ID;

  @TempDir Path folder;

  /**
   * Media driver with the daemon's time-outs, and an echo on {@link #STREAM}; both on one thread
   * and one clock, as in the daemon, so that the driver never takes the echo for dead.
   */
  private static final class EchoDriver implements Agent, AutoCloseable {
    private final ClampedClock clock =
        new ClampedClock(SystemNanoClock.INSTANCE, SystemEpochClock.INSTANCE);
    private final MediaDriver driver;
    private final Aeron aeron;
    private final Subscription subscription;
    private final Map<Integer, ExclusivePublication> publications = new HashMap<>();
    private final List<byte[]> pending = new ArrayList<>();
    private final AgentRunner runner;

    @SuppressWarnings("this-escape")
    EchoDriver(Path directory) {
      driver =
          MediaDriver.launch(
              new MediaDriver.Context()
                  .aeronDirectoryName(directory.toString())
                  .dirDeleteOnStart(true)
                  .threadingMode(ThreadingMode.INVOKER)
                  .asyncExecutorEnabled(false)
                  .nanoClock(clock)
                  .epochClock(clock)
                  .clientLivenessTimeoutNs(TimeUnit.MILLISECONDS.toNanos(750))
                  .publicationUnblockTimeoutNs(TimeUnit.SECONDS.toNanos(1))
                  .timerIntervalNs(TimeUnit.MILLISECONDS.toNanos(100))
                  .ipcTermBufferLength(64 * 1024)
                  .counterValuesBufferLength(1024 * 1024)
                  .lossReportBufferLength(1024 * 1024));
      aeron =
          Aeron.connect(
              new Aeron.Context()
                  .aeronDirectoryName(directory.toString())
                  .useConductorAgentInvoker(true)
                  .driverAgentInvoker(driver.sharedAgentInvoker())
                  .keepAliveIntervalNs(0)
                  .idleSleepDurationNs(0)
                  .driverTimeoutMs(TimeUnit.DAYS.toMillis(1))
                  .nanoClock(clock)
                  .epochClock(clock));
      subscription = aeron.addSubscription(HandshakeProtocol.CHANNEL, STREAM);
      runner = new AgentRunner(new BackoffIdleStrategy(), error -> {}, null, this);
      AgentRunner.startOnThread(runner);
    }

    @Override
    public int doWork() {
      clock.update();
      aeron.conductorAgentInvoker().invoke();
      driver.sharedAgentInvoker().invoke();
      int work =
          subscription.poll((buffer, offset, length, header) -> take(buffer, offset, length), 10);
      work += pending.size();
      pending.removeIf(this::offer);
      return work;
    }

    private void take(DirectBuffer buffer, int offset, int length) {
      byte[] message = new byte[length];
      buffer.getBytes(offset, message);
      pending.add(message);
    }

    private boolean offer(byte[] message) {
      ByteBuffer bytes = ByteBuffer.wrap(message).order(ByteOrder.LITTLE_ENDIAN);
      ExclusivePublication publication =
          publications.computeIfAbsent(
              bytes.getInt(0),
              stream -> aeron.addExclusivePublication(HandshakeProtocol.CHANNEL, stream));
      return publication.offer(new UnsafeBuffer(message)) > 0;
    }

    @Override
    public String roleName() {
      return "echo";
    }

    @Override
    public void close() {
      runner.close();
      aeron.close();
      driver.close();
    }
  }

  private static Outcome run(Build build, Map<String, String> environment, Object... arguments) {
    List<String> command = new ArrayList<>();
    command.add(NativeProgram.compile("test/aeron_client.c", build).toString());
    for (Object argument : arguments) {
      command.add(argument.toString());
    }
    return NativeProgram.run(command, environment, 90);
  }

  @ParameterizedTest
  @EnumSource(Build.class)
  void shouldEchoMessagesOverManyTermsWhenTheDriverIsAlive(Build build) {
    Path directory = folder.resolve("aeron");
    try (EchoDriver echo = new EchoDriver(directory)) {
      assertEquals("echo", echo.roleName());
      Outcome outcome = run(build, Map.of(), "echo", directory, 60_000, STREAM, 600);
      assertEquals("OK", outcome.output().trim());
      assertEquals(0, outcome.status());
    }
  }

  /** Part of U12: a client killed anywhere delays the next one by less than the attach deadline. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "connected",
        "claimed:1",
        "marked:1",
        "filled:1",
        "committed:1",
        "subscribed",
        "claimed:2",
        "marked:2",
        "filled:2",
        "committed:2",
        "published",
        "tail",
        "frame",
        "offered",
        "image",
        "offered:2",
        "removed",
        "claimed:5",
        "closed"
      })
  void shouldServeTheNextClientWhenOneWasKilledAtAnyStep(String step) {
    Path directory = folder.resolve("aeron");
    try (EchoDriver echo = new EchoDriver(directory)) {
      assertEquals("echo", echo.roleName());
      Outcome killed =
          run(Build.C, Map.of("BW_KILL_AT", step), "echo", directory, 10_000, STREAM, 3);
      assertEquals(137, killed.status(), killed.output());
      long before = System.nanoTime();
      Outcome outcome = run(Build.C, Map.of(), "echo", directory, 15_000, STREAM, 3);
      assertEquals("OK", outcome.output().trim());
      long tookMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - before);
      assertTrue(tookMillis < 15_000, () -> "took " + tookMillis + " ms");
    }
  }

  @Test
  void shouldSayNoDaemonWhenTheDriverIsDead() throws IOException {
    Path directory = folder.resolve("aeron");
    Outcome absent = run(Build.SANITIZED, Map.of(), "connect", directory, 100);
    assertTrue(absent.output().startsWith("NO_DAEMON "), absent.output());
    Path kept = folder.resolve("kept");
    try (EchoDriver echo = new EchoDriver(directory)) {
      assertEquals("echo", echo.roleName());
      Files.createDirectories(kept);
      Files.copy(directory.resolve("cnc.dat"), kept.resolve("cnc.dat"));
    }
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    Outcome dead = run(Build.SANITIZED, Map.of(), "connect", kept, 700);
    while (dead.status() == 0
        && System.nanoTime() < deadline) { // its last heartbeat is still young
      dead = run(Build.SANITIZED, Map.of(), "connect", kept, 700);
    }
    String said = dead.output();
    assertTrue(said.startsWith("NO_DAEMON ") && said.contains("stands still"), said);
  }

  @Test
  void shouldTellDamageFromAnotherVersionWhenCncIsNotWhatItMustBe() throws IOException {
    Path directory = folder.resolve("aeron");
    byte[] sound;
    try (EchoDriver echo = new EchoDriver(directory)) {
      assertEquals("echo", echo.roleName());
      sound = Files.readAllBytes(directory.resolve("cnc.dat"));
    }
    byte[] other = sound.clone();
    other[2] = 1;
    assertEquals("VERSION", statusOf(other));
    assertEquals("CORRUPT", statusOf(Arrays.copyOf(sound, sound.length / 2)));
    assertEquals("NO_DAEMON", statusOf(Arrays.copyOf(sound, 100)));
    byte[] lengths = sound.clone();
    lengths[6] = 0x7f;
    assertEquals("CORRUPT", statusOf(lengths));
    assertEquals("NO_DAEMON", statusOf(new byte[sound.length]));
  }

  private String statusOf(byte[] cnc) throws IOException {
    Path directory = Files.createTempDirectory(folder, "cnc");
    Files.write(directory.resolve("cnc.dat"), cnc);
    Outcome outcome = run(Build.SANITIZED, Map.of(), "connect", directory, 100);
    assertEquals(1, outcome.status(), outcome.output());
    return outcome.output().substring(0, outcome.output().indexOf(' '));
  }
}
