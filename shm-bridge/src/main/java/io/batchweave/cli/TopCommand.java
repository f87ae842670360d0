package io.batchweave.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.daemon.DaemonContext;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.view.NodeReader;
import io.batchweave.bridge.view.NodeView;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.agrona.concurrent.SystemNanoClock;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code top}: the node daemon, its rings and its ranks, live. */
@Command(
    name = "top",
    mixinStandardHelpOptions = true,
    description = {
      "Show what the node daemon does: its rings, ranks, stalls and fetches, every second.",
      "Only reads: neither daemon nor ranks notice. Ctrl-C ends it."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  ./batchweave top",
      "  ./batchweave top --once",
      "  ./batchweave top --json --interval 10 >> node.jsonl",
      "  ./batchweave top --once --json | jq '.rings[].ranks[] | select(.waits)'"
    })
final class TopCommand implements Callable<Integer> {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String HOME_AND_CLEAR = "\u001b[H\u001b[2J";
  private static final double MEBI = 1 << 20;

  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(names = "--dir", paramLabel = "DIR", description = "Daemon directory (as for serve).")
  private @Nullable Path directory;

  @Option(names = "--once", description = "Look once and end.")
  private boolean once;

  @Option(names = "--json", description = "Print JSON, one document a line.")
  private boolean json;

  @Option(
      names = "--interval",
      paramLabel = "SECONDS",
      defaultValue = "1",
      description = "Time between two looks (default ${DEFAULT-VALUE} s).")
  private double intervalSeconds;

  private @Nullable NodeView before;
  private long beforeNs;

  @Override
  public Integer call() throws IOException, InterruptedException {
    if (!(intervalSeconds >= 0.1 && intervalSeconds <= 86_400)) {
      throw new ParameterException(spec.commandLine(), "--interval must be 0.1 to 86400 seconds");
    }
    Path at =
        directory == null
            ? DaemonContext.defaultDirectory(System.getenv())
            : directory.toAbsolutePath();
    NodeReader reader = new NodeReader(NativeMemory.system(), at);
    PrintWriter out = spec.commandLine().getOut();
    print(out, reader.read());
    while (!once && !out.checkError()) {
      LockSupport.parkNanos((long) (intervalSeconds * TimeUnit.SECONDS.toNanos(1)));
      try {
        print(out, reader.read());
      } catch (BatchWeaveException e) {
        if (e.kind() != Kind.RETRYABLE) {
          throw e;
        }
        before = null;
        spec.commandLine().getErr().println("batchweave: " + e.getMessage());
      }
    }
    return 0;
  }

  private void print(PrintWriter out, NodeView node) throws JsonProcessingException {
    long nowNs = SystemNanoClock.INSTANCE.nanoTime();
    if (json) {
      out.println(JSON.writeValueAsString(node));
    } else {
      if (!once) {
        out.print(HOME_AND_CLEAR);
      }
      table(out, node, nowNs);
    }
    out.flush();
    before = node;
    beforeNs = nowNs;
  }

  private void table(PrintWriter out, NodeView node, long nowNs) {
    out.println(
        "daemon "
            + node.directory()
            + "  pid "
            + node.pid()
            + "  streams "
            + String.join(" ", node.streams()));
    out.println(fetches(node, nowNs));
    for (NodeView.Ring ring : node.rings()) {
      out.println();
      out.println(describe(ring));
      if (!ring.trouble().isEmpty()) {
        out.println("  trouble: " + ring.trouble());
      }
      if (!ring.ranks().isEmpty()) {
        ranks(out, ring);
      }
    }
    node.notes().forEach(note -> out.println("note: " + note));
  }

  /** Totals, and rates since the look before. */
  private String fetches(NodeView node, long nowNs) {
    double seconds = (nowNs - beforeNs) / (double) TimeUnit.SECONDS.toNanos(1);
    NodeView last = before;
    String rates =
        last == null || seconds <= 0
            ? ""
            : String.format(
                Locale.ROOT,
                "  now %.1f MiB/s, %.1f steps/s, %.1f requests/s",
                rate(node, last, "batchweave_fetched_bytes_total", seconds) / MEBI,
                rate(node, last, "batchweave_steps_published_total", seconds),
                rate(node, last, "batchweave_fetch_seconds_count", seconds));
    double requests = node.metric("batchweave_fetch_seconds_count");
    return String.format(
        Locale.ROOT,
        "steps %.0f  fetched %.1f MiB in %.0f requests of %.1f ms  failed %.0f  wrong %.0f"
            + "  again %.0f  stalls %.0f  ranks lost %.0f%s",
        node.metric("batchweave_steps_published_total"),
        node.metric("batchweave_fetched_bytes_total") / MEBI,
        requests,
        requests == 0 ? 0 : node.metric("batchweave_fetch_seconds_sum") * 1000 / requests,
        node.metric("batchweave_fetch_failures_total"),
        node.metric("batchweave_checksum_failures_total"),
        node.metric("batchweave_refetches_total"),
        node.metric("batchweave_stalls_total"),
        node.metric("batchweave_readers_lost_total"),
        rates);
  }

  private static double rate(NodeView now, NodeView before, String name, double seconds) {
    return Math.max(0, now.metric(name) - before.metric(name)) / seconds;
  }

  private static String describe(NodeView.Ring ring) {
    String memory =
        String.format(
            Locale.ROOT,
            "ring %d  %.1f of %.1f MiB used",
            ring.ring(),
            ring.usedBytes() / MEBI,
            ring.lengthBytes() / MEBI);
    if (ring.generation() < 0) {
      return memory + "  no session";
    }
    String blocked =
        ring.blockedBytes() == 0
            ? ""
            : String.format(
                Locale.ROOT, "  BLOCKED: next step of %.1f MiB", ring.blockedBytes() / MEBI);
    return memory
        + "  group "
        + ring.group()
        + "  session "
        + ring.session()
        + "  generation "
        + ring.generation()
        + " ("
        + ring.state()
        + ")"
        + "  next step "
        + ring.nextStep()
        + "  ahead "
        + ring.aheadSteps()
        + "  fetching "
        + ring.unfinishedFetches()
        + blocked;
  }

  private static void ranks(PrintWriter out, NodeView.Ring ring) {
    TextTable table = new TextTable("rank", "dp", "cp", "pid", "step", "held", "state");
    for (NodeView.Rank rank : ring.ranks()) {
      table.row(
          rank.rank() < 0 ? "?" : rank.rank(),
          rank.dp(),
          rank.cp(),
          rank.pid(),
          rank.step() < 0 ? "-" : rank.step(),
          rank.heldSteps(),
          state(ring, rank));
    }
    table.print(out);
  }

  private static String state(NodeView.Ring ring, NodeView.Rank rank) {
    if (!rank.lives()) {
      return "gone";
    }
    if (rank.generation() != ring.generation()) {
      return "holds steps of generation " + rank.generation();
    }
    return rank.blocks() ? "blocks the ring" : rank.waits() ? "waits" : "computes";
  }
}
