package io.batchweave.store.s3;

import io.batchweave.store.Keys;
import io.batchweave.store.ListedObject;
import io.batchweave.store.Listing;
import io.batchweave.store.StoreException;
import io.batchweave.store.StoreFuture;
import io.batchweave.store.StoreOperation;
import java.util.ArrayList;
import java.util.List;
import javax.xml.stream.XMLStreamException;

/** LIST: pages of up to 1,000 keys, one after another, to the limit. */
final class S3Lists {
  private static final int PAGE_KEYS = 1000;
  private static final long MAX_PAGE_BYTES = 8L << 20;

  private final S3Settings settings;
  private final S3Failures failures;
  private final SignedHttp http;

  S3Lists(S3Settings settings, S3Failures failures, SignedHttp http) {
    this.settings = settings;
    this.failures = failures;
    this.http = http;
  }

  StoreFuture<Listing> list(String prefix, int limit) {
    Pages pages = new Pages(prefix, limit);
    pages.next("");
    return pages.future;
  }

  private final class Pages {
    final StoreFuture<Listing> future = new StoreFuture<>();
    private final String prefix;
    private final int limit;
    private final List<ListedObject> objects = new ArrayList<>();

    Pages(String prefix, int limit) {
      this.prefix = prefix;
      this.limit = limit;
    }

    void next(String token) {
      StringBuilder query = new StringBuilder(128);
      query.append(settings.bucketPath()).append('?');
      if (!token.isEmpty()) {
        query.append("continuation-token=").append(S3Request.escape(token)).append('&');
      }
      query.append("list-type=2&max-keys=").append(Math.min(PAGE_KEYS, limit - objects.size()));
      String full = prefix.isEmpty() ? rootPrefix() : settings.fullKey(prefix);
      if (!full.isEmpty()) {
        query.append("&prefix=").append(S3Request.escape(full));
      }
      StoreFuture<S3Answer> page =
          http.send(
              S3Request.of(StoreOperation.LIST, prefix, "GET", query.toString())
                  .withMaxAnswerBytes(MAX_PAGE_BYTES));
      future.onCancel(() -> page.cancel(false));
      var _ =
          page.whenComplete((answer, thrown) -> {
            if (thrown != null) {
              future.fail(thrown);
            } else {
              take(token, answer);
            }
          });
    }

    private void take(String token, S3Answer answer) {
      S3Xml.Page page;
      try {
        if (answer.status() != 200) {
          throw S3ObjectStore.refused(failures, StoreOperation.LIST, prefix, answer);
        }
        page = S3Xml.parseList(answer.body());
      } catch (StoreException e) {
        future.fail(e);
        return;
      } catch (XMLStreamException e) {
        future.fail(
            failures
                .badAnswer(StoreOperation.LIST, prefix, "no page of a LIST: " + e.getMessage())
                .withCause(e));
        return;
      }
      for (ListedObject object : page.objects()) {
        String key = settings.relativeKey(object.key());
        if (objects.size() < limit && Keys.isKey(key) && key.startsWith(prefix)) {
          objects.add(new ListedObject(key, object.sizeBytes()));
        }
      }
      if (!page.truncated() || objects.size() >= limit) {
        future.complete(new Listing(objects, page.truncated()));
      } else if (page.continuationToken().isEmpty() || page.continuationToken().equals(token)) {
        future.fail(failures.badAnswer(StoreOperation.LIST, prefix, "truncated, but no new token"));
      } else {
        next(page.continuationToken());
      }
    }
  }

  private String rootPrefix() {
    return settings.prefix().isEmpty() ? "" : settings.prefix() + "/";
  }
}
