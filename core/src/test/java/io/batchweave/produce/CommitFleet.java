package io.batchweave.produce;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.Bytes;
import io.batchweave.format.AnnouncementName;
import io.batchweave.format.Block;
import io.batchweave.format.DataObject;
import io.batchweave.format.Envelope;
import io.batchweave.format.Grid;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ManifestVersion;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.StreamCodec;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.Bits;
import io.batchweave.log.Fold;
import io.batchweave.log.FollowPolicy;
import io.batchweave.log.Machine;
import io.batchweave.log.ProducerState;
import io.batchweave.log.State;
import io.batchweave.simulate.ModelStore;
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
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Many producers at a steady load on a modelled store with the latencies of S3, and what they
 * needed: how long batches took to become visible, and which requests.
 */
final class CommitFleet {
  static final long MS = 1_000_000;
  static final long SECOND = 1_000 * MS;
  static final Grid GRID = new Grid(8, 1);
  private static final Tgb TGB = tgb();

  final ModelStore store;
  final List<Member> members = new ArrayList<>();
  final List<Long> visibleNs = new ArrayList<>();
  final List<Long> versionAtNs = new ArrayList<>();
  final Map<String, Integer> committed = new TreeMap<>();
  private final Map<String, Long> counts = new TreeMap<>();
  private final Map<String, Long> addedNs = new HashMap<>();
  private final Bits bits;
  private long nextVersion = 1;
  private String nextKey = ObjectNames.version(1);
  private Trouble trouble = (request, random) -> null;
  private final UUID streamId;
  private final State folded;
  private final Set<Member> slow = new HashSet<>();
  private final Set<Member> blind = new HashSet<>();
  private final List<DataObject> objects = new ArrayList<>();
  private Predicate<String> damaged = key -> false;
  private @Nullable Member sender;
  int mostAnnounced;

  CommitFleet(long seed) {
    bits = new Bits(seed);
    store = new ModelStore(bits.nextLong());
    streamId = bits.nextId();
    folded = State.empty(streamId);
    byte[] stream =
        StreamCodec.encode(
            new StreamDescriptor(streamId, Envelope.FORMAT, GRID.dp(), GRID.cp(), 0));
    store.objects().put(ObjectNames.STREAM, Bytes.wrap(stream));
    store.fates(this::fate);
  }

  private static Tgb tgb() {
    TgbBuilder builder = new TgbBuilder(GRID);
    for (int dp = 0; dp < GRID.dp(); dp++) {
      builder.slice(dp, 0, Bytes.wrap(new byte[] {1}), 1, 1, 1);
    }
    return builder.build();
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

  static TgbEntry entry(DataObject object, long seq) {
    return TGB.entry(object, seq);
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
        assertTrue(decided, "deleted before it was decided: " + key);
      }
    }
  }

  private Fate fate(StoreRequest request, Bits random) {
    count(request);
    if (request instanceof StoreRequest.Delete delete) {
      checkDelete(delete);
    }
    Fate troubled = trouble.of(request, random);
    if (troubled != null) {
      return troubled;
    }
    Fate usual = s3(request, random);
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

  /** S3 Standard: log-normal, sigma 0.45. */
  static Fate s3(StoreRequest request, Bits random) {
    double medianMs =
        switch (request) {
          case StoreRequest.ListPrefix list -> 35;
          case StoreRequest.Get get -> 25;
          case StoreRequest.Delete delete -> 40;
          default -> 60;
        };
    double u = (random.nextBelow(1L << 40) + 1) / (double) (1L << 40);
    double v = random.nextBelow(1L << 40) / (double) (1L << 40);
    double gauss = Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * v);
    long totalNs = (long) (medianMs * MS * Math.exp(0.45 * gauss));
    return new Fate(totalNs * 3 / 4, totalNs / 4, Effect.APPLIED, Answer.DELIVERED);
  }

  private void count(StoreRequest request) {
    String place = request.key().substring(0, Math.max(0, request.key().indexOf('/')));
    counts.merge(request.getClass().getSimpleName() + " " + place, 1L, Long::sum);
  }

  long count(String what) {
    return counts.getOrDefault(what, 0L);
  }

  Map<String, Long> counts() {
    return counts;
  }

  /** One producer: a batch every interval from its first one on. */
  final class Member {
    final String producer;
    final ProducerMachine machine;
    final ModelStore.Client client;
    final long intervalNs;
    boolean stopped;

    Member(String producer, long intervalNs) {
      this.producer = producer;
      this.intervalNs = intervalNs;
      this.machine =
          new ProducerMachine(producer, 2, FollowPolicy.DEFAULT, new Bits(bits.nextLong()));
      this.client = store.attach(new Marked(this));
    }

    private void feed() {
      if (stopped) {
        return;
      }
      drain();
      boolean live = machine.phase() == ProducerMachine.Phase.LIVE;
      if (live && machine.nextSeq() - machine.committedSeq() < 64) {
        long seq = machine.nextSeq();
        addedNs.put(producer + "/" + seq, store.nowNs());
        machine.add(TGB, Bytes.EMPTY);
        client.touch();
      }
      store.after(live ? intervalNs : 10 * MS, this::feed);
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
    Member member = new Member(producer, intervalNs);
    members.add(member);
    store.after(firstAfterNs, member::feed);
    return member;
  }

  void startAll(int count, long intervalNs) {
    for (int i = 0; i < count; i++) {
      start("p" + i, intervalNs, bits.nextBelow(intervalNs));
    }
  }

  /** Runs for a time. */
  void run(long forNs) {
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
      throw new AssertionError("nothing left to happen");
    }
    members.forEach(Member::drain);
  }

  private void watch() {
    for (Map.Entry<String, Bytes> object :
        store.objects().subMap("announce/", "announce/~").entrySet()) {
      if (damaged.test(object.getKey())) {
        object.setValue(Bytes.wrap(new byte[] {1, 2, 3}));
      }
    }
    while (true) {
      Bytes body = store.objects().get(nextKey);
      if (body == null) {
        return;
      }
      ManifestVersion version = ManifestCodec.decode(nextKey, body);
      versionAtNs.add(store.nowNs());
      Fold.apply(folded, version);
      String group = ObjectNames.announceGroup(version.header().version());
      mostAnnounced = Math.max(mostAnnounced, store.objects().subMap(group, group + '~').size());
      for (Block block : version.blocks()) {
        if (block instanceof Block.Produce produce) {
          for (TgbEntry entry : produce.entries()) {
            objects.add(entry.object());
            Long at = addedNs.remove(produce.producer() + "/" + entry.seq());
            if (at != null) {
              visibleNs.add(store.nowNs() - at);
              committed.merge(produce.producer(), 1, Integer::sum);
            }
          }
        }
      }
      nextVersion++;
      nextKey = ObjectNames.version(nextVersion);
    }
  }

  /** Batches added and not visible yet. */
  int pending() {
    return addedNs.size();
  }

  long percentileMs(int percent) {
    long[] sorted = visibleNs.stream().mapToLong(Long::longValue).sorted().toArray();
    return sorted.length == 0 ? 0 : sorted[(int) ((sorted.length - 1L) * percent / 100)] / MS;
  }

  double jain() {
    double sum = committed.values().stream().mapToDouble(n -> n).sum();
    double squares = committed.values().stream().mapToDouble(n -> (double) n * n).sum();
    return sum * sum / (members.size() * squares);
  }

  double putsPerVersion() {
    return (double) count("PutIfAbsent manifest") / Math.max(1, versionAtNs.size());
  }

  double requestsPerBatch() {
    long requests =
        count("PutIfAbsent manifest")
            + count("PutIfAbsent announce")
            + count("PutIfAbsent snapshot")
            + count("PutIfAbsent index")
            + count("Get announce")
            + count("ListPrefix announce")
            + count("Delete announce");
    return (double) requests / Math.max(1, visibleNs.size());
  }

  String row(int producers, double seconds) {
    return String.format(
        "%5d %7d %6.1f %6d %6d %6d %6.2f %6.2f %6.3f %8.0f %s",
        producers,
        visibleNs.size(),
        versionAtNs.size() / seconds,
        percentileMs(50),
        percentileMs(99),
        percentileMs(100),
        putsPerVersion(),
        requestsPerBatch(),
        jain(),
        count("Get manifest") / seconds,
        counts);
  }

  static final String HEAD =
      "prods batches vers/s p50ms  p99ms  maxms put/v  req/b  jain   reads/s";
}
