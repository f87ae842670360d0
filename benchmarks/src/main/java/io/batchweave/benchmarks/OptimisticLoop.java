package io.batchweave.benchmarks;

import io.batchweave.Bytes;
import io.batchweave.log.Bits;
import io.batchweave.log.Machine;
import io.batchweave.simulate.Latencies;
import io.batchweave.simulate.ModelStore;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * What helping commits are compared with: every producer commits for itself, now and then. It lists
 * to find the head and creates the next version with all it has; whoever is late tries again at its
 * next turn. Turns come so seldom that all together keep the log at 0.4 of what one writer could
 * do: interval = producers × request time / 0.4. It is told nothing of the others and reads no
 * versions, which is less than such a loop needs.
 */
final class OptimisticLoop {
  private static final long GROUP_VERSIONS = 512;
  private static final double UTILISATION = 0.4;
  private static final long MILLISECOND_NS = 1_000_000;

  private final ModelStore store;
  private final Bits bits;
  private final long intervalNs;
  private final long batchEveryNs;
  private final List<Loop> loops = new ArrayList<>();
  private final List<Long> visibleNs = new ArrayList<>();
  private long nextVersion;
  private long puts;
  private long lists;

  /**
   * Producers that start now.
   *
   * @param batchEveryNs from one batch of a producer to its next
   */
  OptimisticLoop(int producers, long batchEveryNs, Latencies latencies, long seed) {
    this.bits = new Bits(seed);
    this.store = new ModelStore(bits.nextLong());
    this.batchEveryNs = batchEveryNs;
    double requestMs = latencies.listMs() + latencies.putMs();
    this.intervalNs = (long) (producers * requestMs / UTILISATION * MILLISECOND_NS);
    store.fates(latencies::of);
    for (int i = 0; i < producers; i++) {
      Loop loop = new Loop(i, bits.nextBelow(batchEveryNs), bits.nextBelow(intervalNs));
      loops.add(loop);
      store.attach(loop);
    }
  }

  /** From one turn of a producer to its next. */
  long intervalNs() {
    return intervalNs;
  }

  void run(long forNs) {
    long untilNs = store.nowNs() + forNs;
    store.after(forNs, () -> {});
    store.run(
        () -> {
          watch();
          return store.nowNs() >= untilNs;
        },
        Integer.MAX_VALUE);
  }

  private void watch() {
    Bytes body = store.objects().get(key(nextVersion));
    while (body != null) {
      String said = new String(body.toByteArray(), StandardCharsets.US_ASCII);
      int space = said.indexOf(' ');
      Loop loop = loops.get(Integer.parseInt(said.substring(0, space)));
      loop.committed(Long.parseLong(said.substring(space + 1)));
      nextVersion++;
      body = store.objects().get(key(nextVersion));
    }
  }

  private static String group(long version) {
    return String.format("loop/%015d/", version / GROUP_VERSIONS);
  }

  private static String key(long version) {
    return group(version) + String.format("%020d", version);
  }

  List<Long> visibleNs() {
    return visibleNs;
  }

  double putsPerVersion() {
    return (double) puts / Math.max(1, nextVersion);
  }

  double requestsPerBatch() {
    return (double) (puts + lists) / Math.max(1, visibleNs.size());
  }

  /** One producer; the n-th batch, from 0, is there at a fixed time. */
  private final class Loop implements Machine<Loop> {
    private final int index;
    private final long phaseNs;
    private long turnAtNs;
    private boolean busy;
    private long version;
    private long done;
    private long requests;

    Loop(int index, long phaseNs, long turnAtNs) {
      this.index = index;
      this.phaseNs = phaseNs;
      this.turnAtNs = turnAtNs;
    }

    private long batches(long nowNs) {
      return nowNs < phaseNs ? 0 : (nowNs - phaseNs) / batchEveryNs + 1;
    }

    private void committed(long through) {
      for (; done < through; done++) {
        visibleNs.add(store.nowNs() - phaseNs - done * batchEveryNs);
      }
    }

    @Override
    public void onTime(long nowNs, Requests out) {
      if (!busy && nowNs >= turnAtNs) {
        if (batches(nowNs) > done) {
          list(out);
        } else {
          next(nowNs);
        }
      }
    }

    private void list(Requests out) {
      busy = true;
      lists++;
      requests++;
      out.send(requests, new StoreRequest.ListPrefix(group(version), (int) GROUP_VERSIONS));
    }

    private void next(long nowNs) {
      busy = false;
      turnAtNs = nowNs + intervalNs / 2 + bits.nextBelow(intervalNs);
    }

    @Override
    public void onResponse(long id, StoreResponse response, long nowNs, Requests out) {
      if (response instanceof StoreResponse.Listed listed) {
        int found = listed.objects().size();
        version = version / GROUP_VERSIONS * GROUP_VERSIONS + found;
        if (found == GROUP_VERSIONS) {
          list(out);
          return;
        }
        puts++;
        requests++;
        String body = index + " " + batches(nowNs);
        Bytes bytes = Bytes.wrap(body.getBytes(StandardCharsets.US_ASCII));
        out.send(requests, new StoreRequest.PutIfAbsent(key(version), bytes));
      } else {
        next(nowNs);
      }
    }

    @Override
    public long wakeAtNs() {
      return busy ? Long.MAX_VALUE : turnAtNs;
    }

    @Override
    public Loop copy() {
      throw new UnsupportedOperationException("a loop is not copied");
    }

    @Override
    public long fingerprint() {
      return 0;
    }
  }

  /** A percentile in milliseconds; -1 of nothing. */
  static long percentileMs(List<Long> timesNs, int percent) {
    long[] sorted = timesNs.stream().mapToLong(Long::longValue).sorted().toArray();
    return sorted.length == 0
        ? -1
        : sorted[(int) ((sorted.length - 1L) * percent / 100)] / MILLISECOND_NS;
  }
}
