package io.batchweave.store.probe;

import io.batchweave.BatchWeaveException;
import io.batchweave.Bytes;
import io.batchweave.store.ByteRange;
import io.batchweave.store.ListedObject;
import io.batchweave.store.Listing;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Payload;
import io.batchweave.store.PutOutcome;
import io.batchweave.store.StoreException;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.probe.ProbeCheck.Verdict;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/** The checks that need no race: each asks in sequence and compares. */
final class Conformance {
  /** One more than a page of S3 holds. */
  static final int LISTED_OBJECTS = 1001;

  private static final int PAGE_OBJECTS = 1000;
  private static final int ROUNDS = 20;
  private static final int RANGED_BYTES = 100_000;
  private static final int LARGE_BYTES = 17 << 20;
  private static final int PARALLEL = 32;

  private final ObjectStore store;
  private final Scratch scratch;

  Conformance(ObjectStore store, Scratch scratch) {
    this.store = store;
    this.scratch = scratch;
  }

  /** Thrown by a check whose expectation is not met. */
  private static final class Unmet extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Unmet(String message) {
      super(message);
    }
  }

  private interface Body {
    String run();
  }

  /** Whatever a check meets is its finding, except that the store cannot be used at all. */
  private static ProbeCheck check(String name, Body body) {
    try {
      return ProbeCheck.pass(name, body.run());
    } catch (Unmet e) {
      return ProbeCheck.fail(name, String.valueOf(e.getMessage()));
    } catch (StoreException e) {
      if (e.failure() == StoreFailure.ACCESS_DENIED) {
        throw e;
      }
      return ProbeCheck.fail(name, e.getMessage());
    } catch (BatchWeaveException e) {
      return ProbeCheck.fail(name, e.getMessage());
    }
  }

  private static void require(boolean holds, String otherwise) {
    if (!holds) {
      throw new Unmet(otherwise);
    }
  }

  private static Bytes bytes(String text) {
    return Bytes.wrap(text.getBytes(StandardCharsets.UTF_8));
  }

  private Bytes read(String key) {
    return Scratch.await(store.get(key, null, 1 << 20));
  }

  private void put(String key, Bytes body) {
    Scratch.await(store.put(key, Payload.of(body)));
  }

  private boolean absent(String key) {
    try {
      Scratch.await(store.head(key));
      return false;
    } catch (StoreException e) {
      if (e.failure() == StoreFailure.NOT_FOUND) {
        return true;
      }
      throw e;
    }
  }

  /** Writes and deletes one object: if this fails, the store cannot be used at all. */
  void reach() {
    String key = scratch.key("reach");
    put(key, bytes("batchweave probe"));
    scratch.delete(List.of(key));
  }

  ProbeCheck createOnExisting() {
    return check(
        "create on existing",
        () -> {
          String key = scratch.key("existing-created");
          String put = scratch.key("existing-put");
          Bytes first = bytes("the first");
          PutOutcome created = Scratch.await(store.putIfAbsent(key, Payload.of(first)));
          require(created == PutOutcome.CREATED, "a new key was answered " + created);
          put(put, first);
          for (String existing : List.of(key, put)) {
            for (int again = 0; again < 3; again++) {
              PutOutcome outcome =
                  Scratch.await(store.putIfAbsent(existing, Payload.of(bytes("later " + again))));
              require(
                  outcome == PutOutcome.EXISTS,
                  "an existing key was created again: the store ignores If-None-Match."
                      + " Writers would overwrite each other's commits: no stream may live here");
            }
            require(read(existing).equals(first), "refused, but the object changed");
          }
          return "refused 6 of 6 times, the object unchanged";
        });
  }

  ProbeCheck readAfterWrite() {
    return check(
        "read after write",
        () -> {
          for (int round = 0; round < ROUNDS; round++) {
            String at = "round=" + round;
            String key = scratch.key("read-" + round);
            require(absent(key), "there before it was written: " + at);
            Bytes first = bytes("created " + round);
            Scratch.await(store.putIfAbsent(key, Payload.of(first)));
            require(read(key).equals(first), "a create was not seen: " + at);
            Bytes second = bytes("then replaced " + round);
            put(key, second);
            require(read(key).equals(second), "a replacement was not seen: " + at);
            long size = Scratch.await(store.head(key)).sizeBytes();
            require(size == second.length(), "a head told the length before: " + at);
            scratch.delete(List.of(key));
            require(absent(key), "there after it was deleted: " + at);
          }
          return ROUNDS
              + " times created, replaced, deleted, also after asking in vain: seen at"
              + " once";
        });
  }

  ProbeCheck listAfterWrite() {
    return check(
        "list after put and delete",
        () -> {
          Set<String> expected = new HashSet<>();
          for (int round = 0; round < ROUNDS; round++) {
            String key = scratch.key("list/" + round);
            put(key, bytes("x"));
            expected.add(key);
            require(listed("list/").equals(expected), "a put was not listed: key=" + key);
          }
          for (String key : List.copyOf(expected)) {
            scratch.delete(List.of(key));
            expected.remove(key);
            require(listed("list/").equals(expected), "a delete was not listed: key=" + key);
          }
          return ROUNDS + " puts and deletes, each listed at once";
        });
  }

  private Set<String> listed(String name) {
    return keys(Scratch.await(store.list(scratch.prefix() + name, PAGE_OBJECTS)));
  }

  private static Set<String> keys(Listing listing) {
    Set<String> keys = new HashSet<>();
    for (ListedObject object : listing.objects()) {
      require(keys.add(object.key()), "listed twice: key=" + object.key());
    }
    return keys;
  }

  /** Two verdicts: the pages, and the order in which they came. */
  List<ProbeCheck> pages() {
    List<String> seen = new ArrayList<>();
    ProbeCheck pages =
        check(
            "pages of a list",
            () -> {
              List<String> written = writeMany();
              Listing all =
                  Scratch.await(store.list(scratch.prefix() + "page/", 2 * written.size()));
              require(
                  keys(all).equals(new HashSet<>(written)) && !all.truncated(),
                  "of " + written.size() + " objects listed " + all.objects().size());
              all.objects().forEach(object -> seen.add(object.key()));
              exact(PAGE_OBJECTS, true);
              exact(LISTED_OBJECTS, false);
              scratch.delete(written);
              require(listed("page/").isEmpty(), "still listed after they were deleted");
              return LISTED_OBJECTS + " objects, each listed once, cut where it was asked for";
            });
    boolean ordered = seen.equals(seen.stream().sorted().toList());
    return seen.isEmpty()
        ? List.of(pages)
        : List.of(
            pages,
            new ProbeCheck(
                "order of a list",
                Verdict.INFO,
                ordered ? "by key" : "unordered; nothing relies on it"));
  }

  private void exact(int limit, boolean truncated) {
    Listing listing = Scratch.await(store.list(scratch.prefix() + "page/", limit));
    require(
        keys(listing).size() == limit && listing.truncated() == truncated,
        "with limit="
            + limit
            + " listed "
            + listing.objects().size()
            + " truncated="
            + listing.truncated());
  }

  private List<String> writeMany() {
    List<String> written = new ArrayList<>();
    List<CompletableFuture<Void>> puts = new ArrayList<>();
    for (int i = 0; i < LISTED_OBJECTS; i++) {
      String key = scratch.key(String.format("page/%05d", i));
      written.add(key);
      puts.add(store.put(key, Payload.of(bytes("x"))));
      if (puts.size() == PARALLEL) {
        puts.forEach(Scratch::await);
        puts.clear();
      }
    }
    puts.forEach(Scratch::await);
    return written;
  }

  ProbeCheck rangedReads() {
    return check(
        "ranged reads",
        () -> {
          String key = scratch.key("ranged");
          byte[] content = pattern(RANGED_BYTES);
          put(key, Bytes.wrap(content));
          int[][] ranges = {
            {0, 1}, {0, RANGED_BYTES}, {1, 63}, {4096, 8192}, {RANGED_BYTES - 1, 1}
          };
          for (int[] range : ranges) {
            requireRange(key, content, range[0], range[1], range[1]);
          }
          requireRange(key, content, RANGED_BYTES - 10, 1000, 10);
          for (int past : new int[] {RANGED_BYTES, RANGED_BYTES + 5}) {
            requirePastEnd(key, past);
          }
          requireIntoFile(key, content);
          return "inside, across the end (short) and past it (refused), in memory and into a file";
        });
  }

  private void requireRange(String key, byte[] content, int offset, int length, int expected) {
    Bytes part = Scratch.await(store.get(key, new ByteRange(offset, length), RANGED_BYTES + 1L));
    require(
        part.equals(Bytes.wrap(Arrays.copyOfRange(content, offset, offset + expected))),
        "other bytes than asked for: offset=" + offset + " length=" + length);
  }

  private void requirePastEnd(String key, int offset) {
    try {
      Bytes part = Scratch.await(store.get(key, new ByteRange(offset, 10), RANGED_BYTES + 1L));
      throw new Unmet("past the end: " + part.length() + " bytes instead of a refusal");
    } catch (StoreException e) {
      require(e.failure() == StoreFailure.RANGE, "past the end: " + e.getMessage());
    }
  }

  private void requireIntoFile(String key, byte[] content) {
    try {
      Path file = Files.createTempFile("batchweave-probe", ".bin");
      try {
        byte[] before = new byte[3 * 4096];
        Files.write(file, before);
        Scratch.await(store.getInto(key, new ByteRange(1000, 4096), file, 4096));
        System.arraycopy(content, 1000, before, 4096, 4096);
        require(Arrays.equals(before, Files.readAllBytes(file)), "other bytes in the file");
      } finally {
        Files.deleteIfExists(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("cannot use a temporary file", e);
    }
  }

  ProbeCheck largeUpload() {
    return check(
        "large upload",
        () -> {
          String key = scratch.key("large");
          byte[] content = pattern(LARGE_BYTES);
          put(key, Bytes.wrap(content));
          long size = Scratch.await(store.head(key)).sizeBytes();
          require(size == LARGE_BYTES, "told length=" + size + " of " + LARGE_BYTES);
          Bytes back = Scratch.await(store.get(key, null, LARGE_BYTES));
          require(back.equals(Bytes.wrap(content)), "other bytes came back");
          scratch.delete(List.of(key));
          return (LARGE_BYTES >> 20)
              + " MiB there and back"
              + (store.url().startsWith("s3:") ? ", in parts of partSizeBytes" : "");
        });
  }

  private static byte[] pattern(int length) {
    byte[] bytes = new byte[length];
    for (int i = 0; i < length; i++) {
      bytes[i] = (byte) (i * 31 + (i >> 8) + (i >> 16));
    }
    return bytes;
  }
}
