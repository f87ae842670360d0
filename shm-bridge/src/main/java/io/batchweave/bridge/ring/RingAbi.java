package io.batchweave.bridge.ring;

import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The constants of the shared-memory ABI; mirrors {@code native-include/batchweave_abi.h}. */
public final class RingAbi {
  /** Version of every shared structure: a client and a daemon that differ do not map each other. */
  public static final int VERSION = 1;

  /** The text BWCTRL01, little-endian. */
  public static final long CONTROL_MAGIC = 0x31304c5254435742L;

  /** The text BWREADR1, little-endian. */
  public static final long READER_MAGIC = 0x3152444145525742L;

  /** The text BWTABLE1, little-endian. */
  public static final long TABLE_MAGIC = 0x31454c4241545742L;

  /** The text BWDOORB1, little-endian. */
  public static final long DOORBELL_MAGIC = 0x3142524f4f445742L;

  /** The file that carries the daemon's lock. */
  public static final String DAEMON_LOCK_NAME = "daemon.lock";

  /** Length of the file that carries the daemon's lock. */
  public static final long DAEMON_LOCK_LENGTH = 4096;

  /** What a client reads before it attaches. */
  public static final String DAEMON_JSON_NAME = "daemon.json";

  /** The file that all ranks add to. */
  public static final String DOORBELL_NAME = "doorbell";

  /** Fewest descriptors of a control file. */
  public static final int MIN_DESCRIPTORS = 4;

  /** Most descriptors of a control file, and the number of acks in a reader file. */
  public static final int MAX_DESCRIPTORS = 1024;

  /** Most slices of a region. */
  public static final int MAX_COORDINATES = 65_536;

  /** Most leases that a rank may keep while it asks for the next step. */
  public static final int MAX_HOLD = 64;

  /** Length of a group or session name. */
  public static final int NAME_CHARS = 64;

  /** Length of a text in the control file. */
  public static final int TEXT_BYTES = 1024;

  /** Slices start at multiples of this within their region. */
  public static final int SLICE_ALIGNMENT = 64;

  private static final Pattern DATA_NAME = Pattern.compile("ring-(\\d{1,9})\\.data");
  private static final Pattern CONTROL_NAME =
      Pattern.compile("ring-(\\d{1,9})\\.(\\d{1,18})\\.ctl");
  private static final Pattern READER_NAME = Pattern.compile("([0-9a-f]{32})\\.reader");

  private RingAbi() {}

  /** What {@code seq} of descriptor n is while its step is allocated but not published. */
  public static long seqAllocated(long n) {
    return 2 * n + 1;
  }

  /** What {@code seq} of descriptor n is once its step is published. */
  public static long seqPublished(long n) {
    return 2 * n + 2;
  }

  /** What {@code ack} of step n is once it is released. */
  public static long ackReleased(long n) {
    return 2 * n + 2;
  }

  /** For example {@code ring-0.data}. */
  public static String dataName(int ringNumber) {
    return "ring-" + ringNumber + ".data";
  }

  /** For example {@code ring-0.17.ctl}. */
  public static String controlName(int ringNumber, long generation) {
    return "ring-" + ringNumber + "." + generation + ".ctl";
  }

  /** For example {@code 00112233445566778899aabbccddeeff.reader}. */
  public static String readerName(Id128 readerId) {
    return readerId + ".reader";
  }

  /**
   * The ring of a data file's name.
   *
   * @return -1 when it is not such a name
   */
  public static int ringOfDataName(Path path) {
    Matcher matcher = DATA_NAME.matcher(String.valueOf(path.getFileName()));
    return matcher.matches() ? Integer.parseInt(matcher.group(1)) : -1;
  }

  /**
   * The ring of a control file's name.
   *
   * @return -1 when it is not such a name
   */
  public static int ringOfControlName(Path path) {
    Matcher matcher = CONTROL_NAME.matcher(String.valueOf(path.getFileName()));
    return matcher.matches() ? Integer.parseInt(matcher.group(1)) : -1;
  }

  /**
   * The generation of a control file's name.
   *
   * @return -1 when it is not such a name
   */
  public static long generationOfControlName(Path path) {
    Matcher matcher = CONTROL_NAME.matcher(String.valueOf(path.getFileName()));
    return matcher.matches() ? Long.parseLong(matcher.group(2)) : -1;
  }

  /**
   * The id of a reader file's name.
   *
   * @return null when it is not such a name
   */
  public static @Nullable Id128 readerOfName(Path path) {
    Matcher matcher = READER_NAME.matcher(String.valueOf(path.getFileName()));
    return matcher.matches() ? Id128.parse(matcher.group(1)) : null;
  }
}
