package io.batchweave.cli;

import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads a length of time: {@code 90s}, {@code 10m}, {@code 2h}, {@code 1d}; nanoseconds. */
final class Interval implements ITypeConverter<Long> {
  private static final Pattern FORMAT = Pattern.compile("([0-9]{1,6})(s|m|h|d)");

  @Override
  public Long convert(String value) {
    Matcher matcher = FORMAT.matcher(value.strip().toLowerCase(Locale.ROOT));
    if (!matcher.matches() || matcher.group(1).matches("0+")) {
      throw new TypeConversionException("'" + value + "' is no interval; write 90s, 10m or 2h");
    }
    TimeUnit unit =
        switch (matcher.group(2)) {
          case "s" -> TimeUnit.SECONDS;
          case "m" -> TimeUnit.MINUTES;
          case "h" -> TimeUnit.HOURS;
          default -> TimeUnit.DAYS;
        };
    return unit.toNanos(Long.parseLong(matcher.group(1)));
  }
}
