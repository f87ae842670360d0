package io.batchweave.log;

import io.batchweave.Bytes;
import io.batchweave.store.ListedObject;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.BiPredicate;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A store in memory, in virtual time, single-threaded: what machines are tested against. A request
 * takes effect and is answered in two separate events; a {@link Fates} decides when, and whether at
 * all. Machines hang on it as {@link Client}s, and {@link #run} advances whatever is next: an
 * effect, an answer or a machine's own time.
 *
 * <p>Everything follows from the seed.
 */
public final class ModelStore {
  /** How long a client waits for an answer that is lost before it calls the outcome unclear. */
  public static final long TIMEOUT_NS = 5_000_000_000L;

  /** Whether a request reaches the store. */
  public enum Effect {
    /** It takes effect. */
    APPLIED,
    /** It never does. */
    NOT_APPLIED
  }

  /** What the client hears of it. */
  public enum Answer {
    /** The answer, once. */
    DELIVERED,
    /** The answer, twice. */
    DOUBLED,
    /** Nothing: UNCLEAR after {@link #TIMEOUT_NS}. */
    LOST,
    /** THROTTLED, at once. */
    THROTTLED,
    /** CONFLICT, at once. */
    CONFLICT
  }

  /**
   * What becomes of one request.
   *
   * @param applyAfterNs from sending to effect; may be longer than the client waits
   * @param answerAfterNs from effect to answer
   * @param effect whether it takes effect
   * @param answer what the client hears
   */
  public record Fate(long applyAfterNs, long answerAfterNs, Effect effect, Answer answer) {}

  /** Decides what becomes of requests. */
  @FunctionalInterface
  public interface Fates {
    /** Every request takes 5 ms there and 5 ms back. */
    Fates SMOOTH =
        (request, bits) -> new Fate(5_000_000, 5_000_000, Effect.APPLIED, Answer.DELIVERED);

    /**
     * What becomes of a request.
     *
     * @param request the request
     * @param bits random bits of the store
     */
    Fate of(StoreRequest request, Bits bits);

    /**
     * Delays of 1–50 ms each way, and troubles.
     *
     * @param percent of requests that meet one of: lost request, lost answer, doubled answer,
     *     throttled, a late effect after the client gave up
     */
    static Fates troubled(int percent) {
      return (request, bits) -> {
        long there = 1_000_000 + bits.nextBelow(49_000_000);
        long back = 1_000_000 + bits.nextBelow(49_000_000);
        if (bits.nextBelow(100) >= percent) {
          return new Fate(there, back, Effect.APPLIED, Answer.DELIVERED);
        }
        return switch ((int) bits.nextBelow(5)) {
          case 0 -> new Fate(there, back, Effect.NOT_APPLIED, Answer.LOST);
          case 1 -> new Fate(there, back, Effect.APPLIED, Answer.LOST);
          case 2 -> new Fate(there, back, Effect.APPLIED, Answer.DOUBLED);
          case 3 -> new Fate(there, back, Effect.NOT_APPLIED, Answer.THROTTLED);
          default ->
              new Fate(TIMEOUT_NS + bits.nextBelow(TIMEOUT_NS), back, Effect.APPLIED, Answer.LOST);
        };
      };
    }
  }

  private record Event(long atNs, long order, Runnable action) {}

  private final TreeMap<String, Bytes> objects = new TreeMap<>();
  private final PriorityQueue<Event> events =
      new PriorityQueue<>(Comparator.comparingLong(Event::atNs).thenComparingLong(Event::order));
  private final List<Client> clients = new ArrayList<>();
  private final Map<String, Long> counts = new TreeMap<>();
  private final Bits bits;
  private Fates fates = Fates.SMOOTH;
  private BiPredicate<String, String> listed = (prefix, key) -> true;
  private long nowNs = 1;
  private long order;

  /**
   * An empty store.
   *
   * @param seed of everything random
   */
  public ModelStore(long seed) {
    this.bits = new Bits(seed);
  }

  /** The virtual time. */
  public long nowNs() {
    return nowNs;
  }

  /** What becomes of requests sent from now on. */
  public void fates(Fates newFates) {
    this.fates = newFates;
  }

  /**
   * Makes LISTs not show some keys.
   *
   * @param filter takes prefix and key; false hides the key
   */
  public void listing(BiPredicate<String, String> filter) {
    this.listed = filter;
  }

  /** All objects by key; changes are seen by the store. */
  public SortedMap<String, Bytes> objects() {
    return objects;
  }

  /**
   * Requests that were sent, by kind.
   *
   * @param kind the request's record
   */
  public long count(Class<? extends StoreRequest> kind) {
    return counts.getOrDefault(kind.getSimpleName(), 0L);
  }

  /** All requests that were sent. */
  public long count() {
    return counts.values().stream().mapToLong(Long::longValue).sum();
  }

  /**
   * Hangs a machine on this store; it gets its first {@code onTime} in the next {@link #run}.
   *
   * @param machine driven from now on
   */
  public Client attach(Machine<?> machine) {
    Client client = new Client(machine);
    clients.add(client);
    return client;
  }

  /**
   * Has an action happen in virtual time.
   *
   * @param delayNs from now
   * @param action what happens
   */
  public void after(long delayNs, Runnable action) {
    events.add(new Event(nowNs + delayNs, order++, action));
  }

  /**
   * Runs until the condition holds.
   *
   * @param done looked at after every event
   * @param maxEvents that may happen at most
   * @return whether it holds; false when nothing is left to happen or the limit is reached
   */
  public boolean run(BooleanSupplier done, int maxEvents) {
    for (Client client : clients) {
      client.touch();
    }
    for (int i = 0; i < maxEvents; i++) {
      if (done.getAsBoolean()) {
        return true;
      }
      if (!step()) {
        return false;
      }
    }
    return done.getAsBoolean();
  }

  private boolean step() {
    Client due = null;
    for (Client client : clients) {
      if (client.alive && (due == null || client.wakeAtNs() < due.wakeAtNs())) {
        due = client;
      }
    }
    long wakeNs = due == null ? Long.MAX_VALUE : due.wakeAtNs();
    Event event = events.peek();
    if (event != null && event.atNs() <= wakeNs) {
      events.poll();
      nowNs = Math.max(nowNs, event.atNs());
      event.action().run();
      return true;
    }
    if (due == null || wakeNs == Long.MAX_VALUE) {
      return false;
    }
    nowNs = Math.max(nowNs + 1, wakeNs);
    due.touch();
    return true;
  }

  private StoreResponse apply(StoreRequest request, Map<Long, Bytes> payloads) {
    return switch (request) {
      case StoreRequest.PutIfAbsent put ->
          objects.putIfAbsent(put.key(), put.body()) == null
              ? new StoreResponse.Created()
              : new StoreResponse.Exists();
      case StoreRequest.Get get -> get(get);
      case StoreRequest.ListPrefix list -> list(list);
      case StoreRequest.Delete delete -> {
        delete.keys().forEach(objects::remove);
        yield new StoreResponse.Deleted(List.of());
      }
      case StoreRequest.Upload upload -> {
        Bytes body = payloads.get(upload.handle());
        objects.put(
            upload.key(),
            body == null ? Bytes.wrap(new byte[Math.toIntExact(upload.lengthBytes())]) : body);
        yield new StoreResponse.Created();
      }
    };
  }

  private StoreResponse get(StoreRequest.Get get) {
    Bytes body = objects.get(get.key());
    if (body == null) {
      return new StoreResponse.NotFound();
    }
    byte[] bytes = body.toByteArray();
    int from = get.range() == null ? 0 : (int) Math.min(bytes.length, get.range().offset());
    long to = get.range() == null ? bytes.length : from + get.range().lengthBytes();
    byte[] part = java.util.Arrays.copyOfRange(bytes, from, (int) Math.min(bytes.length, to));
    return part.length > get.maxLengthBytes()
        ? new StoreResponse.Failed(StoreFailure.TOO_LONG, "longer than " + get.maxLengthBytes())
        : new StoreResponse.Found(Bytes.wrap(part));
  }

  private StoreResponse list(StoreRequest.ListPrefix list) {
    List<ListedObject> found = new ArrayList<>();
    boolean truncated = false;
    for (Map.Entry<String, Bytes> object : objects.tailMap(list.prefix()).entrySet()) {
      String key = object.getKey();
      if (!key.startsWith(list.prefix())) {
        break;
      }
      if (listed.test(list.prefix(), key)) {
        truncated = found.size() == list.limit();
        if (truncated) {
          break;
        }
        found.add(new ListedObject(key, object.getValue().length()));
      }
    }
    // No request may rely on the order of a LIST.
    java.util.Collections.shuffle(found, new java.util.Random(bits.nextLong()));
    return new StoreResponse.Listed(found, truncated);
  }

  /** A machine on this store: a process with its own requests in flight. */
  public final class Client implements Machine.Requests {
    private final Machine<?> machine;
    private final Map<Long, Bytes> payloads = new HashMap<>();
    private final List<StoreRequest> sent = new ArrayList<>();
    private boolean alive = true;
    private int inFlight;
    private int maxInFlight;
    private int currentDepth;
    private int maxDepth;

    private Client(Machine<?> machine) {
      this.machine = machine;
    }

    /** The bytes that uploads with this handle carry; without any they are zeros. */
    public void payload(long handle, Bytes body) {
      payloads.put(handle, body);
    }

    /** Dies: hears nothing more; what it sent may still take effect. */
    public void crash() {
      alive = false;
    }

    /** Everything it sent so far. */
    public List<StoreRequest> sent() {
      return List.copyOf(sent);
    }

    /** The most requests it had in flight at once. */
    public int maxInFlight() {
      return maxInFlight;
    }

    /**
     * How many round trips deep its requests were: a request sent while an answer is taken is one
     * deeper than the request of that answer.
     */
    public int maxDepth() {
      return maxDepth;
    }

    /** Begins a new count for {@link #maxDepth} and {@link #maxInFlight}. */
    public void resetDepth() {
      currentDepth = 0;
      maxDepth = 0;
      maxInFlight = inFlight;
    }

    /** Gives the machine the time: after an input from outside. */
    public void touch() {
      if (alive) {
        machine.onTime(nowNs, this);
      }
    }

    private long wakeAtNs() {
      return machine.wakeAtNs();
    }

    @Override
    public void send(long requestId, StoreRequest request) {
      counts.merge(request.getClass().getSimpleName(), 1L, Long::sum);
      sent.add(request);
      inFlight++;
      maxInFlight = Math.max(maxInFlight, inFlight);
      int depth = currentDepth + 1;
      maxDepth = Math.max(maxDepth, depth);
      Fate fate = fates.of(request, bits);
      StoreFailure refused =
          fate.answer() == Answer.THROTTLED
              ? StoreFailure.THROTTLED
              : fate.answer() == Answer.CONFLICT ? StoreFailure.CONFLICT : null;
      boolean answered = fate.answer() == Answer.DELIVERED || fate.answer() == Answer.DOUBLED;
      after(
          fate.applyAfterNs(),
          () -> {
            StoreResponse response =
                fate.effect() == Effect.APPLIED ? apply(request, payloads) : null;
            if (answered && response != null) {
              answer(requestId, response, depth, fate.answerAfterNs(), true);
              if (fate.answer() == Answer.DOUBLED) {
                answer(requestId, response, depth, 2 * fate.answerAfterNs() + 1, false);
              }
            }
          });
      if (refused != null) {
        StoreResponse failed = new StoreResponse.Failed(refused, "modelled");
        answer(requestId, failed, depth, fate.answerAfterNs(), true);
      } else if (!answered || fate.effect() == Effect.NOT_APPLIED) {
        StoreResponse lost = new StoreResponse.Failed(StoreFailure.UNCLEAR, "modelled timeout");
        answer(requestId, lost, depth, TIMEOUT_NS, true);
      }
    }

    private void answer(
        long requestId, @Nullable StoreResponse response, int depth, long delayNs, boolean first) {
      after(
          delayNs,
          () -> {
            inFlight -= first ? 1 : 0;
            if (alive && response != null) {
              currentDepth = depth;
              machine.onResponse(requestId, response, nowNs, this);
            }
          });
    }
  }
}
