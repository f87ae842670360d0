package io.batchweave.simulate;

import io.batchweave.Bytes;
import io.batchweave.log.Bits;
import io.batchweave.log.Machine;
import io.batchweave.store.ListedObject;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.BiPredicate;
import java.util.function.BooleanSupplier;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * A store in memory, in virtual time, single-threaded: what machines are simulated and tested
 * against. A request takes effect and is answered in two separate events; a {@link Fates} decides
 * when, and whether at all. Machines hang on it as {@link Client}s, and {@link #run} advances
 * whatever is next: an effect, an answer or a machine's own time.
 *
 * <p>Who is due next is kept in a {@code WakeIndex}, so thousands of machines cost no more each
 * than one: whoever gives a machine an input from outside calls {@link Client#touch}.
 *
 * <p>What it models of real stores: a LIST has no order, and misses some of the keys that are
 * created while it runs; everything else is strongly consistent.
 *
 * <p>Everything follows from the seed.
 */
public final class ModelStore {
  /** How long a client waits for an answer that is lost before it calls the outcome unclear. */
  public static final long TIMEOUT_NS = 5_000_000_000L;

  /** Calls in a row without time passing or anything happening, after which a machine spins. */
  private static final int MAX_TOUCHES_IN_A_ROW = 10_000;

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
    CONFLICT,
    /** UNCLEAR, at once: a 500. */
    SERVER_ERROR,
    /** EXISTS although the create took effect: a client below repeated it and got a 412. */
    REPEATED
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

  /** Sees everything that happens at the store, in order. */
  interface Observer {
    /** A client sends. */
    void sent(Client client, StoreRequest request);

    /** A request takes effect; the response is what the store says, whoever hears it. */
    void applied(Client client, StoreRequest request, StoreResponse response);

    /** A client hears an answer. */
    void answered(Client client, StoreRequest request, StoreResponse response);
  }

  /** Stands between a machine and its requests: how a bug is planted. */
  interface Wire {
    /** What is really sent. */
    StoreRequest sending(Client client, long requestId, StoreRequest request);

    /** What is really heard; null if nothing is. */
    @Nullable StoreResponse hearing(
        Client client, long requestId, StoreRequest request, StoreResponse response);
  }

  /** What is left of a machine whose process died. */
  private static final class Gone implements Machine<Gone> {
    @Override
    public void onResponse(long requestId, StoreResponse response, long nowNs, Requests requests) {}

    @Override
    public void onTime(long nowNs, Requests requests) {}

    @Override
    public long wakeAtNs() {
      return Long.MAX_VALUE;
    }

    @Override
    public Gone copy() {
      return this;
    }

    @Override
    public long fingerprint() {
      return 0;
    }
  }

  private static final Machine<?> GONE = new Gone();

  private record Event(long atNs, long order, Runnable action) {}

  private final TreeMap<String, Bytes> objects = new TreeMap<>();
  private final Map<String, Long> createdAtNs = new HashMap<>();
  private final PriorityQueue<Event> events =
      new PriorityQueue<>(Comparator.comparingLong(Event::atNs).thenComparingLong(Event::order));
  private final List<Client> clients = new ArrayList<>();
  private final WakeIndex wakes = new WakeIndex();
  private final Map<Class<? extends StoreRequest>, Long> counts = new HashMap<>();
  private final Bits bits;
  private Fates fates = Fates.SMOOTH;
  private BiPredicate<String, String> listed = (prefix, key) -> true;
  private @Nullable Observer observer;
  private long nowNs = 1;
  private int touchesInARow;
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

  void observe(Observer newObserver) {
    this.observer = newObserver;
  }

  /** All objects by key; changes are seen by the store. */
  public SortedMap<String, Bytes> objects() {
    return objects;
  }

  /**
   * Lets objects go with all that is known of them, so that a run may go on for long: only such as
   * nobody asks for again.
   *
   * @param part of {@link #objects}
   */
  void forget(SortedMap<String, Bytes> part) {
    part.keySet().forEach(createdAtNs::remove);
    part.clear();
  }

  /**
   * Requests that were sent, by kind.
   *
   * @param kind the request's record
   */
  public long count(Class<? extends StoreRequest> kind) {
    return counts.getOrDefault(kind, 0L);
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
    Client client = new Client(machine, clients.size());
    clients.add(client);
    client.reschedule();
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
   * @throws IllegalStateException if a machine is due again and again and does nothing
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
    long wakeNs = wakes.earliestNs() <= nowNs ? Long.MIN_VALUE : wakes.earliestNs();
    Event event = events.peek();
    if (event != null && event.atNs() <= wakeNs) {
      touchesInARow = 0;
      events.poll();
      nowNs = Math.max(nowNs, event.atNs());
      event.action().run();
      return true;
    }
    if (wakeNs == Long.MAX_VALUE) {
      return false;
    }
    Client due = clients.get(wakes.earliest());
    touchesInARow = wakeNs <= nowNs + 1 ? touchesInARow + 1 : 0;
    if (touchesInARow > MAX_TOUCHES_IN_A_ROW) {
      throw new IllegalStateException(
          "machine is always due and does nothing: process=" + due.name() + " " + due.machine);
    }
    nowNs = Math.max(nowNs + 1, wakeNs);
    due.touch();
    return true;
  }

  private StoreResponse apply(StoreRequest request, long sentAtNs, LongFunction<Bytes> payloads) {
    return switch (request) {
      case StoreRequest.PutIfAbsent put -> {
        if (objects.putIfAbsent(put.key(), put.body()) != null) {
          yield new StoreResponse.Exists();
        }
        createdAtNs.put(put.key(), nowNs);
        yield new StoreResponse.Created();
      }
      case StoreRequest.Get get -> get(get);
      case StoreRequest.ListPrefix list -> list(list, sentAtNs);
      case StoreRequest.Delete delete -> {
        delete.keys().forEach(objects::remove);
        delete.keys().forEach(createdAtNs::remove);
        yield new StoreResponse.Deleted(List.of());
      }
      case StoreRequest.Upload upload -> {
        if (objects.put(upload.key(), payloads.apply(upload.handle())) == null) {
          createdAtNs.put(upload.key(), nowNs);
        }
        yield new StoreResponse.Created();
      }
    };
  }

  private StoreResponse get(StoreRequest.Get get) {
    Bytes body = objects.get(get.key());
    if (body == null) {
      return new StoreResponse.NotFound();
    }
    if (get.range() != null) {
      byte[] bytes = body.toByteArray();
      int from = (int) Math.min(bytes.length, get.range().offset());
      int to = (int) Math.min(bytes.length, from + get.range().lengthBytes());
      body = Bytes.wrap(java.util.Arrays.copyOfRange(bytes, from, to));
    }
    return body.length() > get.maxLengthBytes()
        ? new StoreResponse.Failed(StoreFailure.TOO_LONG, "longer than " + get.maxLengthBytes())
        : new StoreResponse.Found(body);
  }

  private StoreResponse list(StoreRequest.ListPrefix list, long sentAtNs) {
    List<ListedObject> found = new ArrayList<>();
    boolean truncated = false;
    for (Map.Entry<String, Bytes> object : objects.tailMap(list.prefix()).entrySet()) {
      String key = object.getKey();
      if (!key.startsWith(list.prefix())) {
        break;
      }
      if (listed.test(list.prefix(), key) && !missed(key, sentAtNs)) {
        truncated = found.size() == list.limit();
        if (truncated) {
          break;
        }
        found.add(new ListedObject(key, object.getValue().length()));
      }
    }
    // No request may rely on the order of a LIST.
    for (int i = found.size() - 1; i > 0; i--) {
      Collections.swap(found, i, (int) bits.nextBelow(i + 1));
    }
    return new StoreResponse.Listed(found, truncated);
  }

  /** Whether a key came while the LIST ran and happens to be passed over. */
  private boolean missed(String key, long sentAtNs) {
    return createdAtNs.getOrDefault(key, Long.MIN_VALUE) >= sentAtNs && bits.nextBelow(2) == 0;
  }

  /** A machine on this store: a process with its own requests in flight and its own clock. */
  public final class Client implements Machine.Requests {
    private Machine<?> machine;
    private final int index;
    private final Map<Long, Bytes> payloads = new HashMap<>();
    private final List<StoreRequest> sent = new ArrayList<>();
    private final List<Runnable> held = new ArrayList<>();
    private int sentCount;
    private LongFunction<@Nullable Bytes> payloadSource = payloads::get;
    private String name = "";
    private @Nullable Wire wire;
    private @Nullable Runnable afterEvent;
    private boolean remembers = true;
    private boolean alive = true;
    private boolean paused;
    private long skewNs;
    private int inFlight;
    private int maxInFlight;
    private int currentDepth;
    private int maxDepth;

    private Client(Machine<?> machine, int index) {
      this.machine = machine;
      this.index = index;
    }

    /** The bytes that uploads with this handle carry; without any they are zeros. */
    public void payload(long handle, Bytes body) {
      payloads.put(handle, body);
    }

    /** Where the bytes of uploads come from, asked when they are sent. */
    public void payloads(LongFunction<@Nullable Bytes> source) {
      payloadSource = source;
    }

    /** Its name in histories. */
    String name() {
      return name;
    }

    void name(String newName) {
      name = newName;
    }

    void wire(@Nullable Wire newWire) {
      wire = newWire;
    }

    /** What is run after every call of the machine. */
    void afterEvent(Runnable action) {
      afterEvent = action;
    }

    /** Dies: hears nothing more; what it sent may still take effect. */
    public void crash() {
      alive = false;
      machine = GONE;
      afterEvent = null;
      payloadSource = handle -> null;
      reschedule();
    }

    /** Stops without dying: what it hears waits. */
    void pause() {
      paused = true;
      reschedule();
    }

    /** Goes on, as if all this time one instruction had been running. */
    void resume() {
      paused = false;
      List<Runnable> waiting = List.copyOf(held);
      held.clear();
      waiting.forEach(Runnable::run);
      touch();
    }

    /**
     * Lets its clock jump.
     *
     * @param byNs forwards, or backwards if negative
     */
    void jump(long byNs) {
      skewNs += byNs;
      reschedule();
    }

    boolean alive() {
      return alive;
    }

    boolean paused() {
      return paused;
    }

    private boolean runs() {
      return alive && !paused;
    }

    /** From now on {@link #sent} does not grow: for long runs. */
    void forgetSent() {
      remembers = false;
    }

    /** Everything it sent so far. */
    public List<StoreRequest> sent() {
      return List.copyOf(sent);
    }

    /** How many requests it sent so far. */
    int sentCount() {
      return sentCount;
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

    /** Gives the machine the time: after every input from outside, or it is not noticed. */
    public void touch() {
      if (runs()) {
        machine.onTime(localNs(), this);
        called();
      }
    }

    private void called() {
      if (afterEvent != null) {
        afterEvent.run();
      }
      reschedule();
    }

    /** Notes when the machine is due: after every call of it and whatever changes its clock. */
    private void reschedule() {
      wakes.set(index, runs() ? wakeAtNs() : Long.MAX_VALUE);
    }

    private long localNs() {
      return nowNs + skewNs;
    }

    private long wakeAtNs() {
      long wakeNs = machine.wakeAtNs();
      if (wakeNs == Long.MAX_VALUE) {
        return wakeNs;
      }
      return wakeNs <= localNs() ? Long.MIN_VALUE : wakeNs - skewNs;
    }

    @Override
    public void send(long requestId, StoreRequest wanted) {
      StoreRequest request = wire == null ? wanted : wire.sending(this, requestId, wanted);
      counts.merge(request.getClass(), 1L, Long::sum);
      sentCount++;
      if (remembers) {
        sent.add(request);
      }
      if (observer != null) {
        observer.sent(this, request);
      }
      inFlight++;
      maxInFlight = Math.max(maxInFlight, inFlight);
      int depth = currentDepth + 1;
      maxDepth = Math.max(maxDepth, depth);
      long sentAtNs = nowNs;
      Bytes payload = request instanceof StoreRequest.Upload upload ? payloadOf(upload) : null;
      Fate fate = fates.of(request, bits);
      StoreResponse early = early(fate);
      Delivery delivery = new Delivery(requestId, request, depth);
      after(
          fate.applyAfterNs(),
          () -> {
            if (fate.effect() == Effect.NOT_APPLIED) {
              return;
            }
            StoreResponse response =
                apply(request, sentAtNs, handle -> payload == null ? Bytes.EMPTY : payload);
            if (observer != null) {
              observer.applied(this, request, response);
            }
            if (early == null) {
              answer(delivery, fate, response);
            }
          });
      if (early != null) {
        delivery.after(isRefusal(fate.answer()) ? fate.answerAfterNs() : TIMEOUT_NS, early, true);
      }
    }

    private Bytes payloadOf(StoreRequest.Upload upload) {
      Bytes body = payloadSource.apply(upload.handle());
      return body == null ? Bytes.wrap(new byte[Math.toIntExact(upload.lengthBytes())]) : body;
    }

    private static boolean isRefusal(Answer answer) {
      return answer == Answer.THROTTLED
          || answer == Answer.CONFLICT
          || answer == Answer.SERVER_ERROR;
    }

    /** The answer that does not depend on the effect; null if it does. */
    private static @Nullable StoreResponse early(Fate fate) {
      return switch (fate.answer()) {
        case THROTTLED -> new StoreResponse.Failed(StoreFailure.THROTTLED, "modelled 503");
        case CONFLICT -> new StoreResponse.Failed(StoreFailure.CONFLICT, "modelled 409");
        case SERVER_ERROR -> new StoreResponse.Failed(StoreFailure.UNCLEAR, "modelled 500");
        case LOST -> new StoreResponse.Failed(StoreFailure.UNCLEAR, "modelled timeout");
        case DELIVERED, DOUBLED, REPEATED ->
            fate.effect() == Effect.APPLIED
                ? null
                : new StoreResponse.Failed(StoreFailure.UNCLEAR, "modelled timeout");
      };
    }

    private void answer(Delivery delivery, Fate fate, StoreResponse response) {
      boolean repeated =
          fate.answer() == Answer.REPEATED && delivery.request instanceof StoreRequest.PutIfAbsent;
      StoreResponse heard = repeated ? new StoreResponse.Exists() : response;
      delivery.after(fate.answerAfterNs(), heard, true);
      if (fate.answer() == Answer.DOUBLED) {
        delivery.after(2 * fate.answerAfterNs() + 1, heard, false);
      }
    }

    /** How one request is answered. */
    private final class Delivery {
      private final long requestId;
      private final StoreRequest request;
      private final int depth;

      Delivery(long requestId, StoreRequest request, int depth) {
        this.requestId = requestId;
        this.request = request;
        this.depth = depth;
      }

      void after(long delayNs, StoreResponse response, boolean first) {
        ModelStore.this.after(
            delayNs,
            () -> {
              inFlight -= first ? 1 : 0;
              hear(response);
            });
      }

      private void hear(StoreResponse response) {
        if (!alive) {
          return;
        }
        if (paused) {
          held.add(() -> hear(response));
          return;
        }
        StoreResponse heard =
            wire == null ? response : wire.hearing(Client.this, requestId, request, response);
        if (heard == null) {
          return;
        }
        currentDepth = depth;
        if (observer != null) {
          observer.answered(Client.this, request, heard);
        }
        machine.onResponse(requestId, heard, localNs(), Client.this);
        called();
      }
    }
  }
}
