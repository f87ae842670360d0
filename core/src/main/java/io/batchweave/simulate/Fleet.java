package io.batchweave.simulate;

import io.batchweave.Bytes;
import io.batchweave.format.AnnouncementName;
import io.batchweave.format.Block;
import io.batchweave.format.DataObject;
import io.batchweave.format.Envelope;
import io.batchweave.format.Grid;
import io.batchweave.format.Limits;
import io.batchweave.format.ManifestVersion;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.StreamCodec;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.Bits;
import io.batchweave.log.Folding;
import io.batchweave.log.FollowPolicy;
import io.batchweave.log.Machine;
import io.batchweave.log.ProducerState;
import io.batchweave.log.State;
import io.batchweave.produce.ProducerMachine;
import io.batchweave.produce.Tgb;
import io.batchweave.produce.TgbBuilder;
import io.batchweave.simulate.ModelStore.Answer;
import io.batchweave.simulate.ModelStore.Effect;
import io.batchweave.simulate.ModelStore.Fate;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Many producers at a steady load on a modelled store, and what they needed: how long batches took
 * to become visible, and which requests. The machines are the real ones; a seed determines
 * everything, on every machine.
 */
public final class Fleet {
  static final long MS = 1_000_000;
  static final long SECOND = 1_000 * MS;
  private static final int VERSIONS_KEPT = 64;
  private static final int ALMOST_FULL_BYTES = Limits.VERSION_BYTES - Limits.BLOCK_BYTES;

  /** A create of a version, as {@link #count} knows it. */
  public static final String PUT_VERSION = "PutIfAbsent manifest";

  /** The kinds of requests that commits need, as {@link #count} knows them. */
  public static final List<String> COMMIT_REQUESTS =
      List.of(
          "PutIfAbsent announce",
          "Get announce",
          "ListPrefix announce",
          PUT_VERSION,
          "PutIfAbsent snapshot",
          "PutIfAbsent index",
          "Delete announce");

  final ModelStore store;
  final List<Member> members = new ArrayList<>();
  final List<Long> visibleNs = new ArrayList<>();
  final List<Long> versionAtNs = new ArrayList<>();
  final Map<String, Integer> committed = new TreeMap<>();
  private final Map<String, Long> counts = new TreeMap<>();
  private final Map<String, Long> addedNs = new HashMap<>();
  private final Bits bits;
  private final Latencies latencies;
  private long nextVersion = 1;
  private String nextKey = ObjectNames.version(1);
  private Trouble trouble = (request, random) -> null;
  private final UUID streamId;
  private final Folding folding;
  private State folded;
  private final Set<Member> slow = new HashSet<>();
  private final Set<Member> blind = new HashSet<>();
  private final List<DataObject> objects = new ArrayList<>();
  private @Nullable Predicate<String> damaged;
  private @Nullable Member sender;
  private @Nullable Member committer;
  private final Tgb tgb;
  private int batchesAtOnce = 1;
  private int maxPending = 64;
  private int fullVersions;
  private boolean forgetful;
  int mostAnnounced;

  /**
   * No producer yet, and an empty stream.
   *
   * @param seed of everything random
   * @param latencies of the store
   */
  public Fleet(long seed, Latencies latencies) {
    this(seed, latencies, new Grid(8, 1));
  }

  /** With batches cut for a grid. */
  Fleet(long seed, Latencies latencies, Grid grid) {
    this(seed, latencies, grid, new SharedFolding());
  }

  /** With processes that fold the log in a given way. */
  Fleet(long seed, Latencies latencies, Grid grid, Folding folding) {
    this.folding = folding;
    this.tgb = batch(grid);
    this.bits = new Bits(seed);
    this.latencies = latencies;
    this.store = new ModelStore(bits.nextLong());
    this.streamId = bits.nextId();
    this.folded = State.empty(streamId);
    byte[] stream =
        StreamCodec.encode(
            new StreamDescriptor(streamId, Envelope.FORMAT, grid.dp(), grid.cp(), 0));
    store.objects().put(ObjectNames.STREAM, Bytes.wrap(stream));
    store.fates(this::fate);
  }

  private static Tgb batch(Grid grid) {
    TgbBuilder builder = new TgbBuilder(grid);
    for (int dp = 0; dp < grid.dp(); dp++) {
      builder.slice(dp, 0, Bytes.wrap(new byte[] {1}), 1, 1, 1);
    }
    return builder.build();
  }

  /**
   * From now on every producer has more to commit than fits. What nobody reads again of the log and
   * of the data is forgotten, so that this can go on for long.
   */
  void saturate() {
    batchesAtOnce = 64;
    maxPending = 256;
    forgetful = true;
  }

  /** Versions that had no room for one more full block. */
  int fullVersions() {
    return fullVersions;
  }

  /** Kills whoever sent the last version. */
  void crashCommitter() {
    if (committer != null) {
      committer.crash();
    }
  }

  /** Makes all requests of a member take ten times as long. */
  void slow(Member member) {
    slow.add(member);
  }

  /** Makes all LISTs of announcements by a member fail. */
  void blind(Member member) {
    blind.add(member);
  }

  /** Replaces by garbage whatever announcement is created under such a key. */
  void damage(Predicate<String> keys) {
    damaged = keys;
  }

  State state() {
    return folded;
  }

  UUID streamId() {
    return streamId;
  }

  /** Data objects of a producer in the log, in order. */
  List<DataObject> objectsOf(String producer) {
    return objects.stream().filter(object -> object.producer().equals(producer)).toList();
  }

  TgbEntry entry(DataObject object, long seq) {
    return tgb.entry(object, seq);
  }

  /** What goes wrong with a request. */
  interface Trouble {
    /** Its fate; null for the usual one. */
    @Nullable Fate of(StoreRequest request, Bits random);
  }

  /** What goes wrong with requests from now on. */
  void trouble(Trouble newTrouble) {
    trouble = newTrouble;
  }

  /** Only what the log has decided is ever deleted of the announcements near the head (A8). */
  private void checkDelete(StoreRequest.Delete delete) {
    for (String key : delete.keys()) {
      if (key.startsWith("announce/")
          && key.compareTo(ObjectNames.announceGroup(Math.max(0, folded.version() - 128))) > 0) {
        boolean decided =
            switch (ObjectNames.parseAnnouncement(key)) {
              case AnnouncementName.Produce p -> {
                ProducerState state = folded.producer(p.producer());
                yield state != null
                    && (p.epoch() < state.epoch() || p.firstSeq() < state.nextSeq());
              }
              case AnnouncementName.Fence f -> {
                ProducerState state = folded.producer(f.producer());
                yield state != null && f.epoch() <= state.epoch();
              }
              case null, default -> true;
            };
        if (!decided) {
          throw new IllegalStateException("deleted before it was decided: key=" + key);
        }
      }
    }
  }

  private Fate fate(StoreRequest request, Bits random) {
    count(request);
    if (request instanceof StoreRequest.Delete delete) {
      checkDelete(delete);
    } else if (request instanceof StoreRequest.PutIfAbsent
        && request.key().startsWith("manifest/")) {
      committer = sender;
    }
    Fate troubled = trouble.of(request, random);
    if (troubled != null) {
      return troubled;
    }
    Fate usual = latencies.of(request, random);
    if (slow.contains(sender)) {
      return new Fate(
          10 * usual.applyAfterNs(), 10 * usual.answerAfterNs(), usual.effect(), usual.answer());
    }
    boolean list =
        request instanceof StoreRequest.ListPrefix && request.key().startsWith("announce/");
    return list && blind.contains(sender)
        ? new Fate(5 * MS, 20 * MS, Effect.NOT_APPLIED, Answer.THROTTLED)
        : usual;
  }

  private void count(StoreRequest request) {
    String place = request.key().substring(0, Math.max(0, request.key().indexOf('/')));
    counts.merge(request.getClass().getSimpleName() + " " + place, 1L, Long::sum);
  }

  /**
   * Requests that were sent.
   *
   * @param what the request's kind and the first part of its key: {@code "Get manifest"}
   */
  public long count(String what) {
    return counts.getOrDefault(what, 0L);
  }

  /**
   * One producer: a batch every interval, at times of its own that do not depend on when it owned
   * its epoch, or a crowd that starts together would stay in step for ever.
   */
  final class Member {
    final String producer;
    final ProducerMachine machine;
    final ModelStore.Client client;
    final long intervalNs;
    private final long phaseNs;
    boolean stopped;

    Member(String producer, long intervalNs, long phaseNs) {
      this.producer = producer;
      this.intervalNs = intervalNs;
      this.phaseNs = phaseNs;
      this.machine =
          new ProducerMachine(
              producer, 2, FollowPolicy.DEFAULT, folding, new Bits(bits.nextLong()));
      this.client = store.attach(new Marked(this));
      client.payloads(handle -> Bytes.EMPTY);
      client.forgetSent();
    }

    private void feed() {
      if (stopped) {
        return;
      }
      drain();
      boolean live = machine.phase() == ProducerMachine.Phase.LIVE;
      for (int i = 0; live && i < batchesAtOnce && pending() < maxPending; i++) {
        addedNs.put(producer + "/" + machine.nextSeq(), store.nowNs());
        machine.add(tgb, Bytes.EMPTY);
        client.touch();
      }
      long toNextNs = intervalNs - Math.floorMod(store.nowNs() - phaseNs, intervalNs);
      store.after(live ? toNextNs : 10 * MS, this::feed);
    }

    private long pending() {
      return machine.nextSeq() - machine.committedSeq();
    }

    void drain() {
      while (machine.nextCommitted() != null) {
        // What was acknowledged is checked elsewhere.
      }
    }

    void crash() {
      stopped = true;
      client.crash();
    }
  }

  /** A machine whose requests tell who sends them. */
  private final class Marked implements Machine<Marked> {
    private final Member member;

    private Marked(Member member) {
      this.member = member;
    }

    private Requests marked(Requests requests) {
      return (id, request) -> {
        sender = member;
        requests.send(id, request);
        sender = null;
      };
    }

    @Override
    public void onResponse(long id, StoreResponse response, long nowNs, Requests requests) {
      member.machine.onResponse(id, response, nowNs, marked(requests));
    }

    @Override
    public void onTime(long nowNs, Requests requests) {
      member.machine.onTime(nowNs, marked(requests));
    }

    @Override
    public long wakeAtNs() {
      return member.machine.wakeAtNs();
    }

    @Override
    public Marked copy() {
      throw new UnsupportedOperationException("a fleet is not copied");
    }

    @Override
    public long fingerprint() {
      return member.machine.fingerprint();
    }
  }

  Member start(String producer, long intervalNs, long firstAfterNs) {
    Member member = new Member(producer, intervalNs, bits.nextBelow(intervalNs));
    members.add(member);
    store.after(firstAfterNs, member::feed);
    return member;
  }

  /**
   * Starts producers in the same instant, each with a batch per interval at a time of its own.
   *
   * @param count how many
   * @param intervalNs from one batch to the next
   */
  public void startAll(int count, long intervalNs) {
    for (int i = 0; i < count; i++) {
      start("p" + i, intervalNs, 0);
    }
  }

  /**
   * Runs for a time.
   *
   * @param forNs of the virtual clock
   */
  public void run(long forNs) {
    long untilNs = store.nowNs() + forNs;
    store.after(forNs, () -> {});
    boolean ended =
        store.run(
            () -> {
              watch();
              return store.nowNs() >= untilNs;
            },
            Integer.MAX_VALUE);
    if (!ended) {
      throw new IllegalStateException("nothing left to happen");
    }
    members.forEach(Member::drain);
  }

  private void watch() {
    if (damaged != null) {
      damageAnnouncements(damaged);
    }
    while (true) {
      Bytes body = store.objects().get(nextKey);
      if (body == null) {
        return;
      }
      ManifestVersion version = folding.decode(nextVersion, body);
      versionAtNs.add(store.nowNs());
      fullVersions += body.length() > ALMOST_FULL_BYTES ? 1 : 0;
      folded = folding.fold(folded, version).state();
      String group = ObjectNames.announceGroup(version.header().version());
      mostAnnounced = Math.max(mostAnnounced, store.objects().subMap(group, group + '~').size());
      for (Block block : version.blocks()) {
        if (block instanceof Block.Produce produce) {
          for (TgbEntry entry : produce.entries()) {
            if (!forgetful) {
              objects.add(entry.object());
            }
            Long at = addedNs.remove(produce.producer() + "/" + entry.seq());
            if (at != null) {
              visibleNs.add(store.nowNs() - at);
              committed.merge(produce.producer(), 1, Integer::sum);
            }
          }
        }
      }
      if (forgetful) {
        forget();
      }
      nextVersion++;
      nextKey = ObjectNames.version(nextVersion);
    }
  }

  private void forget() {
    SortedMap<String, Bytes> all = store.objects();
    store.forget(all.subMap("data/", "data/~"));
    store.forget(all.subMap("index/", "index/~"));
    if (nextVersion > VERSIONS_KEPT) {
      long old = nextVersion - VERSIONS_KEPT;
      store.forget(all.subMap("manifest/", ObjectNames.version(old + 1)));
      store.forget(all.subMap("snapshot/", ObjectNames.snapshot(old)));
    }
  }

  private void damageAnnouncements(Predicate<String> which) {
    for (Map.Entry<String, Bytes> object :
        store.objects().subMap("announce/", "announce/~").entrySet()) {
      if (which.test(object.getKey())) {
        object.setValue(Bytes.wrap(new byte[] {1, 2, 3}));
      }
    }
  }

  /** Batches added and not visible yet. */
  int pending() {
    return addedNs.size();
  }

  /** Batches that became visible. */
  public int batches() {
    return visibleNs.size();
  }

  /** Versions that were written. */
  public int versions() {
    return versionAtNs.size();
  }

  /** From adding a batch until it was visible, in the order in which they became visible. */
  public List<Long> visibleNs() {
    return List.copyOf(visibleNs);
  }

  /**
   * A percentile of the time from adding a batch until it is visible.
   *
   * @param percent from 0 to 100
   */
  public long percentileMs(int percent) {
    long[] sorted = visibleNs.stream().mapToLong(Long::longValue).sorted().toArray();
    return sorted.length == 0 ? 0 : sorted[(int) ((sorted.length - 1L) * percent / 100)] / MS;
  }

  /** Jain's index of fairness over the batches committed for each producer: 1 is equal. */
  public double jain() {
    double sum = committed.values().stream().mapToDouble(n -> n).sum();
    double squares = committed.values().stream().mapToDouble(n -> (double) n * n).sum();
    return sum * sum / (members.size() * squares);
  }

  /** Creates of versions per version that exists. */
  public double putsPerVersion() {
    return (double) count(PUT_VERSION) / Math.max(1, versions());
  }

  /** Requests that commits need, per batch; data and reads of versions apart. */
  public double requestsPerBatch() {
    long requests = 0;
    for (String kind : COMMIT_REQUESTS) {
      requests += count(kind);
    }
    return (double) requests / Math.max(1, batches());
  }

  /**
   * Lets producers die at once.
   *
   * @param remaining so many of the first go on
   */
  public void crashAllBut(int remaining) {
    members.subList(remaining, members.size()).forEach(Member::crash);
  }
}
