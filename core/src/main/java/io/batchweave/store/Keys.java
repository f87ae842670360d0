package io.batchweave.store;

import org.jspecify.annotations.Nullable;

/** The rule for keys, the same on every store. */
public final class Keys {
  /** The longest key in characters: a path on every file system, and S3's limit less a prefix. */
  public static final int MAX_LENGTH = 900;

  /** The longest part between two slashes: leaves room for what services append on file systems. */
  public static final int MAX_PART_LENGTH = 200;

  private Keys() {}

  /**
   * Refuses what is not a key.
   *
   * @param key the key
   * @return the same key
   * @throws IllegalArgumentException naming what is wrong
   */
  public static String requireKey(String key) {
    return require(key, faultOfKey(key));
  }

  /**
   * Refuses what is not the start of a key.
   *
   * @param prefix the prefix; empty for all
   * @return the same prefix
   * @throws IllegalArgumentException naming what is wrong
   */
  public static String requirePrefix(String prefix) {
    return require(prefix, faultOfPrefix(prefix));
  }

  /**
   * Whether this could be a key; what somebody else left in the store may not be.
   *
   * @param text anything
   */
  public static boolean isKey(String text) {
    return faultOfKey(text) == null;
  }

  private static String require(String key, @Nullable String fault) {
    if (fault != null) {
      throw new IllegalArgumentException("not a key: " + fault + ": key=" + key);
    }
    return key;
  }

  private static @Nullable String faultOfKey(String key) {
    if (key.isEmpty()) {
      return "empty";
    }
    return key.endsWith("/") ? "ends with a slash" : faultOfPrefix(key);
  }

  private static @Nullable String faultOfPrefix(String prefix) {
    if (prefix.length() > MAX_LENGTH) {
      return "longer than " + MAX_LENGTH + " characters";
    }
    int partStart = 0;
    for (int i = 0; i < prefix.length(); i++) {
      char c = prefix.charAt(i);
      if (c == '/') {
        String fault = faultOfPart(prefix.substring(partStart, i));
        if (fault != null) {
          return fault;
        }
        partStart = i + 1;
      } else if (!allowed(c)) {
        return "a character outside [A-Za-z0-9._-] at index " + i;
      }
    }
    return partStart == prefix.length() ? null : faultOfPart(prefix.substring(partStart));
  }

  private static @Nullable String faultOfPart(String part) {
    if (part.isEmpty() || part.equals(".") || part.equals("..")) {
      return "an empty part, \".\" or \"..\"";
    }
    if (part.length() > MAX_PART_LENGTH) {
      return "a part longer than " + MAX_PART_LENGTH + " characters";
    }
    return null;
  }

  private static boolean allowed(char c) {
    return (c >= 'a' && c <= 'z')
        || (c >= 'A' && c <= 'Z')
        || (c >= '0' && c <= '9')
        || c == '.'
        || c == '_'
        || c == '-';
  }
}
