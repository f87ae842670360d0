package io.batchweave.store.s3;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * {@code Content-Range: bytes first-last/total} of a 206.
 *
 * @param first first byte
 * @param last last byte, inclusive
 * @param total length of the object; -1 if it was not said
 */
record ContentRange(long first, long last, long total) {
  private static final Pattern SYNTAX =
      Pattern.compile("bytes (\\d{1,18})-(\\d{1,18})/(\\d{1,18}|\\*)");

  /** Parses; null for anything that is not one. */
  static @Nullable ContentRange parse(String header) {
    Matcher matcher = SYNTAX.matcher(header.trim());
    if (!matcher.matches()) {
      return null;
    }
    String total = matcher.group(3);
    return new ContentRange(
        Long.parseLong(matcher.group(1)),
        Long.parseLong(matcher.group(2)),
        total.equals("*") ? -1 : Long.parseLong(total));
  }

  long lengthBytes() {
    return last - first + 1;
  }
}
