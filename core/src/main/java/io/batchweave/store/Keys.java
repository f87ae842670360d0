package io.batchweave.store;

/** The rule for keys, the same on every store. */
public final class Keys {
  /** The longest key in characters: a path on every file system, and S3's limit less a prefix. */
  public static final int MAX_LENGTH = 900;

  /** The longest part between two slashes. */
  public static final int MAX_PART_LENGTH = 240;

  private Keys() {}

  /**
   * Refuses what is not a key.
   *
   * @param key the key
   * @return the same key
   * @throws IllegalArgumentException naming what is wrong
   */
  public static String requireKey(String key) {
    if (key.isEmpty()) {
      throw refused(key, "empty");
    }
    if (key.endsWith("/")) {
      throw refused(key, "ends with a slash");
    }
    return requirePrefix(key);
  }

  /**
   * Refuses what is not the start of a key.
   *
   * @param prefix the prefix; empty for all
   * @return the same prefix
   * @throws IllegalArgumentException naming what is wrong
   */
  public static String requirePrefix(String prefix) {
    if (prefix.length() > MAX_LENGTH) {
      throw refused(prefix, "longer than " + MAX_LENGTH + " characters");
    }
    int partStart = 0;
    for (int i = 0; i < prefix.length(); i++) {
      char c = prefix.charAt(i);
      if (c == '/') {
        requirePart(prefix, partStart, i);
        partStart = i + 1;
      } else if (!allowed(c)) {
        throw refused(prefix, "a character outside [A-Za-z0-9._-] at index " + i);
      }
    }
    if (partStart < prefix.length()) {
      requirePart(prefix, partStart, prefix.length());
    }
    return prefix;
  }

  private static void requirePart(String key, int from, int to) {
    String part = key.substring(from, to);
    if (part.isEmpty() || part.equals(".") || part.equals("..")) {
      throw refused(key, "an empty part, \".\" or \"..\"");
    }
    if (part.length() > MAX_PART_LENGTH) {
      throw refused(key, "a part longer than " + MAX_PART_LENGTH + " characters");
    }
  }

  private static boolean allowed(char c) {
    return (c >= 'a' && c <= 'z')
        || (c >= 'A' && c <= 'Z')
        || (c >= '0' && c <= '9')
        || c == '.'
        || c == '_'
        || c == '-';
  }

  private static IllegalArgumentException refused(String key, String why) {
    return new IllegalArgumentException("not a key: " + why + ": key=" + key);
  }
}
