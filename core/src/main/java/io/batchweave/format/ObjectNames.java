package io.batchweave.format;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.function.LongFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Every name on the store, built and parsed here and nowhere else. Keys are relative to the
 * stream's root. A parser answers nothing for a key that is not exactly what the builder of that
 * kind makes, so foreign objects under the root are left alone.
 */
public final class ObjectNames {
  /** The object that makes a root a stream. */
  public static final String STREAM = "stream";

  /** Prefix of all snapshots, one group. */
  public static final String SNAPSHOTS = "snapshot/";

  /** Prefix of all segments, one group. */
  public static final String SEGMENTS = "index/";

  /** Prefix of all data and state objects. */
  public static final String DATA = "data/";

  /** Groups that data and state objects are spread over. */
  public static final int DATA_GROUPS = 256;

  /** Prefix of all announcements. */
  public static final String ANNOUNCEMENTS = "announce/";

  private static final OptionalLong NONE = OptionalLong.empty();
  private static final String NUMBER = "([0-9]{20})";
  private static final String PART = "([a-z0-9-]{1,64})";
  private static final Pattern VERSION = Pattern.compile("manifest/([0-9]{15})/" + NUMBER);
  private static final Pattern SNAPSHOT = Pattern.compile("snapshot/" + NUMBER);
  private static final Pattern SEGMENT = Pattern.compile("index/" + NUMBER);
  private static final Pattern DATA_OBJECT =
      Pattern.compile(
          "data/[0-9a-f]{2}/"
              + PART
              + "/([0-9]{10})\\."
              + NUMBER
              + "-"
              + NUMBER
              + "\\.([0-9a-f]{16})\\.(tgb|state)");
  private static final Pattern ANNOUNCEMENT = Pattern.compile("announce/([0-9]{15})/(.+)");
  private static final Pattern ANNOUNCED_PRODUCE =
      Pattern.compile("p\\." + PART + "\\.([0-9]{10})\\." + NUMBER + "-" + NUMBER);
  private static final Pattern ANNOUNCED_FENCE =
      Pattern.compile("f\\." + PART + "\\.([0-9]{10})\\.([0-9a-f]{32})");
  private static final Pattern ANNOUNCED_OTHER =
      Pattern.compile("o\\.([a-z]{1,16})\\." + PART + "\\.((?:[a-z0-9-]{1,64}\\.)+)" + NUMBER);

  private ObjectNames() {}

  /**
   * A manifest version, for example {@code manifest/000000000000001/00000000000000000700}.
   *
   * @param version from 1
   */
  public static String version(long version) {
    return versionGroup(version) + number(version);
  }

  /**
   * The prefix of the group that holds a version, for example {@code manifest/000000000000001/}.
   *
   * @param version any version of the group
   */
  public static String versionGroup(long version) {
    return "manifest/" + group(version / Limits.GROUP_VERSIONS) + "/";
  }

  /**
   * The version that a key names.
   *
   * @param key any key
   */
  public static OptionalLong parseVersion(String key) {
    Matcher matcher = VERSION.matcher(key);
    return matcher.matches() ? same(key, parse(matcher.group(2)), ObjectNames::version) : NONE;
  }

  /**
   * A snapshot, for example {@code snapshot/00000000000000000128}.
   *
   * @param version whose state it holds
   */
  public static String snapshot(long version) {
    return SNAPSHOTS + number(version);
  }

  /**
   * The version of the snapshot that a key names.
   *
   * @param key any key
   */
  public static OptionalLong parseSnapshot(String key) {
    Matcher matcher = SNAPSHOT.matcher(key);
    return matcher.matches() ? same(key, parse(matcher.group(1)), ObjectNames::snapshot) : NONE;
  }

  /**
   * A segment, for example {@code index/00000000000000000003} for the steps [768, 1024).
   *
   * @param index step / 256
   */
  public static String segment(long index) {
    return SEGMENTS + number(index);
  }

  /**
   * The index of the segment that a key names.
   *
   * @param key any key
   */
  public static OptionalLong parseSegment(String key) {
    Matcher matcher = SEGMENT.matcher(key);
    return matcher.matches() ? same(key, parse(matcher.group(1)), ObjectNames::segment) : NONE;
  }

  /**
   * A data object, for example {@code
   * data/58/web-3/0000000002.00000000000000000010-00000000000000000012.00000000000000ff.tgb}. The
   * two hex digits are the lowest byte of the CRC32C of the name from the producer on, without the
   * extension: they spread the keys.
   *
   * @param object its identity
   */
  public static String data(DataObject object) {
    return dataStem(object) + ".tgb";
  }

  /**
   * A source state of its own; as {@link #data} with {@code .state}.
   *
   * @param object its identity
   */
  public static String state(DataObject object) {
    return dataStem(object) + ".state";
  }

  /**
   * The prefix of one group of data and state objects, for example {@code data/58/}.
   *
   * @param group from 0, below {@link #DATA_GROUPS}
   */
  public static String dataGroup(int group) {
    return DATA + String.format("%02x", group) + "/";
  }

  /**
   * The data object that a key names.
   *
   * @param key any key
   */
  public static @Nullable DataObject parseData(String key) {
    DataObject object = parseDataStem(key);
    return object != null && data(object).equals(key) ? object : null;
  }

  /**
   * The source state that a key names.
   *
   * @param key any key
   */
  public static @Nullable DataObject parseState(String key) {
    DataObject object = parseDataStem(key);
    return object != null && state(object).equals(key) ? object : null;
  }

  /**
   * The prefix of the announcements whose owners knew a head of this group, for example {@code
   * announce/000000000000010/}.
   *
   * @param headVersion the head they knew
   */
  public static String announceGroup(long headVersion) {
    return "announce/" + group(headVersion / Limits.ANNOUNCE_VERSIONS) + "/";
  }

  /**
   * The number of the group that holds a key; nothing for a key of no such group.
   *
   * @param key any key
   */
  public static OptionalLong parseAnnounceGroup(String key) {
    Matcher matcher = ANNOUNCEMENT.matcher(key);
    return matcher.matches() ? OptionalLong.of(parse(matcher.group(1))) : NONE;
  }

  /**
   * The announcement of a block, under {@link #announceGroup}. Examples of what follows the group:
   * {@code p.web-3.0000000002.00000000000000000010-00000000000000000012}, {@code
   * f.web-3.0000000003.00112233445566778899aabbccddeeff}, {@code
   * o.session.run7.run7-0.00000000000000000042}.
   *
   * @param headVersion the head its owner knows
   * @param block the block
   */
  public static String announcement(long headVersion, Block block) {
    return announceGroup(headVersion) + announced(block);
  }

  /**
   * What the key of an announcement says; null for any other key.
   *
   * @param key any key
   */
  public static @Nullable AnnouncementName parseAnnouncement(String key) {
    Matcher outer = ANNOUNCEMENT.matcher(key);
    if (!outer.matches()) {
      return null;
    }
    String name = outer.group(2);
    Matcher produce = ANNOUNCED_PRODUCE.matcher(name);
    if (produce.matches()) {
      long epoch = parse(produce.group(2));
      long first = parse(produce.group(3));
      long last = parse(produce.group(4));
      return epoch < 1 || epoch > Integer.MAX_VALUE || first < 0 || last < first
          ? null
          : new AnnouncementName.Produce(produce.group(1), (int) epoch, first, last);
    }
    Matcher fence = ANNOUNCED_FENCE.matcher(name);
    if (fence.matches()) {
      long epoch = parse(fence.group(2));
      return epoch < 1 || epoch > Integer.MAX_VALUE
          ? null
          : new AnnouncementName.Fence(fence.group(1), (int) epoch, parseId(fence.group(3)));
    }
    Matcher other = ANNOUNCED_OTHER.matcher(name);
    if (other.matches()) {
      long base = parse(other.group(4));
      List<String> id = Arrays.asList(other.group(3).split("\\.", 0));
      return base < 0
          ? null
          : new AnnouncementName.Operator(other.group(1), other.group(2), id, base);
    }
    return null;
  }

  private static String announced(Block block) {
    return switch (block) {
      case Block.Produce b ->
          "p."
              + b.producer()
              + "."
              + epoch(b.epoch())
              + "."
              + number(b.firstSeq())
              + "-"
              + number(b.firstSeq() + Math.max(1, b.entries().size()) - 1);
      case Block.Fence b ->
          "f." + b.producer() + "." + epoch(b.epoch()) + "." + id(b.incarnation());
      case Block.Retire b -> other("retire", b.producer(), "final", b.base());
      case Block.OpenSession b ->
          other(
              b.takeover() == Block.Takeover.SUPERSEDE ? "supersede" : "session",
              b.group(),
              b.sessionId(),
              b.base());
      case Block.EndSession b -> other("end", b.group(), b.sessionId(), b.base());
      case Block.Pin b -> other("pin", b.group(), b.view() + "." + b.id(), b.step());
      case Block.OperatorPin b -> other("hold", b.group(), b.id() + "." + b.step(), b.base());
      case Block.Unpin b -> other("unpin", b.group(), b.id(), b.base());
      case Block.Skip b -> other("skip", "stream", b.from() + "-" + b.to(), b.base());
      case Block.Reclaim b -> other("reclaim", "stream", Long.toString(b.step()), b.base());
      case Block.Seal b -> other("seal", "stream", "end", 0);
    };
  }

  private static String other(String kind, String owner, String id, long base) {
    return "o." + kind + "." + owner + "." + id + "." + number(base);
  }

  private static String dataStem(DataObject object) {
    String rest =
        object.producer()
            + "/"
            + epoch(object.epoch())
            + "."
            + number(object.firstSeq())
            + "-"
            + number(object.lastSeq())
            + "."
            + String.format("%016x", object.random());
    CRC32C crc = new CRC32C();
    crc.update(rest.getBytes(StandardCharsets.US_ASCII));
    return DATA + String.format("%02x", crc.getValue() & 0xFF) + "/" + rest;
  }

  private static @Nullable DataObject parseDataStem(String key) {
    Matcher matcher = DATA_OBJECT.matcher(key);
    if (!matcher.matches()) {
      return null;
    }
    long epoch = parse(matcher.group(2));
    long first = parse(matcher.group(3));
    long last = parse(matcher.group(4));
    if (epoch < 1 || epoch > Integer.MAX_VALUE || first < 0 || last < first) {
      return null;
    }
    return new DataObject(
        matcher.group(1), (int) epoch, first, last, Long.parseUnsignedLong(matcher.group(5), 16));
  }

  private static OptionalLong same(String key, long value, LongFunction<String> builder) {
    return value >= 0 && builder.apply(value).equals(key) ? OptionalLong.of(value) : NONE;
  }

  /** The number that 20 digits name; -1 when it is beyond a long. */
  private static long parse(String digits) {
    try {
      return Long.parseLong(digits);
    } catch (NumberFormatException e) {
      return -1;
    }
  }

  private static UUID parseId(String hex) {
    return new UUID(
        Long.parseUnsignedLong(hex.substring(0, 16), 16),
        Long.parseUnsignedLong(hex.substring(16), 16));
  }

  private static String id(UUID id) {
    return String.format("%016x%016x", id.getMostSignificantBits(), id.getLeastSignificantBits());
  }

  private static String epoch(int epoch) {
    return String.format("%010d", epoch);
  }

  private static String group(long group) {
    return String.format("%015d", group);
  }

  private static String number(long value) {
    if (value < 0) {
      throw new IllegalArgumentException("numbers in names are not negative: value=" + value);
    }
    return String.format("%020d", value);
  }
}
