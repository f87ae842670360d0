package io.batchweave.cli;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** A number of bytes as people write it: {@code 512}, {@code 64KiB}, {@code 4GiB}, {@code 2G}. */
final class ByteSize implements ITypeConverter<Long> {
  private static final Pattern TEXT = Pattern.compile("(\\d{1,18})\\s*([kmgt]?)(i?b)?");
  private static final String[] UNITS = {"B", "KiB", "MiB", "GiB", "TiB"};

  @Override
  public Long convert(String value) {
    Matcher matcher = TEXT.matcher(value.toLowerCase(Locale.ROOT));
    if (!matcher.matches()) {
      throw new TypeConversionException("'" + value + "' is no size; write 512MiB or 4GiB");
    }
    int shift =
        switch (matcher.group(2)) {
          case "k" -> 10;
          case "m" -> 20;
          case "g" -> 30;
          case "t" -> 40;
          default -> 0;
        };
    long number = Long.parseLong(matcher.group(1));
    if (number > Long.MAX_VALUE >> shift) {
      throw new TypeConversionException("'" + value + "' is larger than any machine");
    }
    return number << shift;
  }

  /** Writes a number of bytes for people: {@code 1.5 MiB}. */
  static String format(long bytes) {
    double value = bytes;
    int unit = 0;
    while (value >= 1024 && unit < UNITS.length - 1) {
      value /= 1024;
      unit++;
    }
    return unit == 0
        ? bytes + " B"
        : String.format(Locale.ROOT, value < 10 ? "%.2f %s" : "%.1f %s", value, UNITS[unit]);
  }
}
