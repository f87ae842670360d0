package io.batchweave.store;

import io.batchweave.BatchWeaveException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The URL of a root, taken apart.
 *
 * <pre>
 * /path/to/root                           scheme file
 * file:/path/to/root?sync=none            scheme file
 * s3://bucket/prefix?region=eu-central-1  scheme s3
 * </pre>
 *
 * @param scheme {@code file} or {@code s3}
 * @param bucket the bucket; empty for files
 * @param path the directory, or the prefix without slashes at its ends
 * @param query settings in the order given
 */
public record StoreUrl(String scheme, String bucket, String path, Map<String, String> query) {
  /** Copies the settings. */
  public StoreUrl {
    query = Map.copyOf(query);
  }

  /**
   * Takes a URL apart.
   *
   * @param url the text
   * @throws BatchWeaveException of kind CONFIG if it names no store
   */
  public static StoreUrl parse(String url) {
    int mark = url.indexOf('?');
    String address = mark < 0 ? url : url.substring(0, mark);
    Map<String, String> query = mark < 0 ? Map.of() : parseQuery(url, url.substring(mark + 1));
    if (address.startsWith("s3://")) {
      return parseS3(url, address.substring("s3://".length()), query);
    }
    String path = address;
    if (address.startsWith("file:")) {
      path = address.substring("file:".length());
      if (path.startsWith("//")) {
        path = path.substring(2);
        if (!path.startsWith("/")) {
          throw refused(url, "a file URL has no host: write file:/path");
        }
      }
    } else if (address.matches("[A-Za-z][A-Za-z0-9+.-]+:.*")) {
      throw refused(url, "use file:/path, a plain path, or s3://bucket/prefix");
    }
    if (path.isEmpty()) {
      throw refused(url, "the path is missing: write file:/path");
    }
    return new StoreUrl("file", "", path, query);
  }

  private static StoreUrl parseS3(String url, String address, Map<String, String> query) {
    int slash = address.indexOf('/');
    String bucket = slash < 0 ? address : address.substring(0, slash);
    String prefix = slash < 0 ? "" : address.substring(slash + 1);
    while (prefix.endsWith("/")) {
      prefix = prefix.substring(0, prefix.length() - 1);
    }
    if (!bucket.matches("[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](--[a-z0-9-]+--x-s3)?")) {
      throw refused(url, "the bucket's name is wrong: bucket=" + bucket + "; s3://bucket/prefix");
    }
    try {
      if (!prefix.isEmpty()) {
        Keys.requireKey(prefix);
      }
    } catch (IllegalArgumentException e) {
      throw refused(url, "the prefix is wrong: " + e.getMessage());
    }
    return new StoreUrl("s3", bucket, prefix, query);
  }

  private static Map<String, String> parseQuery(String url, String text) {
    Map<String, String> query = new LinkedHashMap<>();
    for (String pair : text.split("&", -1)) {
      if (pair.isEmpty()) {
        continue;
      }
      int equals = pair.indexOf('=');
      if (equals <= 0) {
        throw refused(url, "a setting is name=value: setting=" + pair);
      }
      String name = pair.substring(0, equals);
      try {
        String value = URLDecoder.decode(pair.substring(equals + 1), StandardCharsets.UTF_8);
        if (query.putIfAbsent(name, value) != null) {
          throw refused(url, "a setting is given twice: name=" + name);
        }
      } catch (IllegalArgumentException e) {
        throw refused(url, "a value is not URL-encoded: name=" + name);
      }
    }
    return query;
  }

  private static BatchWeaveException refused(String url, String why) {
    return new BatchWeaveException(
        BatchWeaveException.Kind.CONFIG, "not the URL of a store: url=" + url + "; " + why);
  }
}
