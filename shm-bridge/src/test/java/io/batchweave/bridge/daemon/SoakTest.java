package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The soak: random kills of daemons, ranks and producers, with 0 wrong bytes, 0 hangs, 0 steps lost
 * or doubled, 0 bytes of shared memory left (U1, U12, U13, U40, U41 with real processes).
 */
class SoakTest extends DaemonFixture {
  private static final long SEED = Long.getLong("batchweave.soakSeed", 1);
  private static final int KILLS = Integer.getInteger("batchweave.soakKills", 300);

  private void soak(int kills) throws Exception {
    try (Soak soak = new Soak(SEED, directory, root)) {
      Soak.Result result = soak.run(kills);
      System.out.println(result.json());
      assertTrue(result.steps() > 0);
    }
  }

  @Test
  @Tag("full")
  @Timeout(value = 10, unit = TimeUnit.MINUTES)
  void shouldReadEveryStepOnceWhoeverIsKilled() throws Exception {
    soak(10);
  }

  /** {@code -Dbatchweave.soakKills=300}: so many; {@code -Dbatchweave.soakSeed=1}: which. */
  @Test
  @Tag("full")
  @Timeout(value = 3, unit = TimeUnit.HOURS)
  void shouldReadEveryStepOnceWhoeverIsKilledThreeHundredTimes() throws Exception {
    soak(KILLS);
  }
}
