package io.batchweave.bridge.daemon;

import io.batchweave.BatchWeaveException;
import io.batchweave.Bytes;
import io.batchweave.bridge.handshake.Answer.Refused;
import io.batchweave.bridge.handshake.Checkpoint;
import io.batchweave.bridge.handshake.Hello;
import io.batchweave.bridge.handshake.Question;
import io.batchweave.bridge.handshake.RefusalCode;
import io.batchweave.bridge.handshake.Request;
import io.batchweave.bridge.ring.RingAbi;
import io.batchweave.client.SessionOpening.Opened;
import io.batchweave.format.Grid;
import io.batchweave.format.Limits;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.read.SlicePlan;
import io.batchweave.read.Token;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What can be said about a Hello without looking at any ring. Every value in it is the peer's. */
final class HelloCheck {
  private static final int MAX_LOCAL_READERS = 4_096;
  private static final Pattern READER_NAME = Pattern.compile("[0-9a-f]{32}\\.reader");

  private HelloCheck() {}

  private static @Nullable Refused abi(Request request) {
    return request.abi() == RingAbi.VERSION
        ? null
        : new Refused(
            RefusalCode.ABI_MISMATCH,
            "shared-memory ABI of client and daemon differ: client="
                + request.abi()
                + " daemon="
                + RingAbi.VERSION
                + "; install one version on this node");
  }

  private static @Nullable Refused name(String field, String value) {
    return Limits.NAME_PATTERN.matcher(value).matches()
        ? null
        : malformed(field, value, "use 1 to 64 characters of a-z, 0-9 and -");
  }

  private static @Nullable Refused first(@Nullable Refused... found) {
    for (Refused each : found) {
      if (each != null) {
        return each;
      }
    }
    return null;
  }

  /** Why a request that is no Hello is wrong itself; null if it is not. */
  static @Nullable Refused errand(Request request) {
    return switch (request) {
      case Checkpoint it ->
          first(
              abi(it),
              name("group", it.group()),
              name("session", it.session()),
              name("checkpoint", it.id()),
              it.viewVersion() > 0 && it.step() >= 0 && it.keep() >= 1
                  ? null
                  : malformed(
                      "viewVersion,step,keep",
                      it.viewVersion() + "," + it.step() + "," + it.keep(),
                      "a version, a step, and how many checkpoints stay"));
      case Question it ->
          first(
              abi(it),
              name("group", it.group()),
              name("session", it.session()),
              it.viewVersion() > 0
                  ? null
                  : malformed("viewVersion", Long.toString(it.viewVersion()), "a version"));
      case Hello hello -> form(hello);
    };
  }

  /** Why the Hello itself is wrong; null if it is not. */
  static @Nullable Refused form(Hello hello) {
    Refused wrong =
        first(abi(hello), name("group", hello.group()), name("session", hello.session()));
    if (wrong != null) {
      return wrong;
    }
    Hello.RankShape shape = hello.shape();
    if (!isPlace(shape.dp(), shape.dpSize()) || !isPlace(shape.cp(), shape.cpSize())) {
      return malformed("coordinate", hello.describe(), "0 <= dp < dpSize and 0 <= cp < cpSize");
    }
    if ((long) shape.dpSize() * shape.cpSize() > Limits.SLICES) {
      return malformed("sizes", hello.describe(), "dpSize*cpSize is at most " + Limits.SLICES);
    }
    if (shape.localReaders() < 1 || shape.localReaders() > MAX_LOCAL_READERS) {
      return malformed(
          "localReaders", Integer.toString(shape.localReaders()), "1 to " + MAX_LOCAL_READERS);
    }
    if (hello.nextStep() < Hello.NO_STEP) {
      return malformed("nextStep", Long.toString(hello.nextStep()), "-1 or a step");
    }
    if (hello.viewVersion() < 0) {
      return malformed("viewVersion", Long.toString(hello.viewVersion()), "0 or a version");
    }
    // Names are joined to the daemon directory: anything but the one pattern could leave it.
    if (!isReaderName(hello.readerFile())) {
      return malformed("readerFile", hello.readerFile(), "<32 hex digits>.reader");
    }
    if (!hello.previousReaderFile().isEmpty() && !isReaderName(hello.previousReaderFile())) {
      return malformed("previousReaderFile", hello.previousReaderFile(), "<32 hex digits>.reader");
    }
    return null;
  }

  private static boolean isPlace(int index, int size) {
    return size >= 1 && index >= 0 && index < size;
  }

  private static boolean isReaderName(String name) {
    return READER_NAME.matcher(name).matches();
  }

  private static Refused malformed(String field, String value, String remedy) {
    return new Refused(
        RefusalCode.MALFORMED, "bad request: " + field + "=" + value + "; expected " + remedy);
  }

  /** Why the rank cannot read this stream; null if it can. */
  static @Nullable Refused stream(Hello hello, StreamDescriptor descriptor) {
    try {
      SlicePlan.requireReadable(descriptor.grid(), grid(hello));
    } catch (BatchWeaveException e) {
      return new Refused(RefusalCode.GRID_MISMATCH, e.getMessage() + " (" + hello.describe() + ")");
    }
    if (hello.token().length() > 0) {
      try {
        Token.decode(hello.token()).requireStream(descriptor.streamId());
      } catch (BatchWeaveException e) {
        return new Refused(RefusalCode.TOKEN_OF_OTHER_STREAM, String.valueOf(e.getMessage()));
      }
    }
    return null;
  }

  /**
   * Why the rank is not of this launch: ranks that say no step of their own must agree on where the
   * session starts. Null if it is.
   */
  static @Nullable Refused launch(Hello hello, Opened launch) {
    if (hello.viewVersion() > 0 && hello.viewVersion() != launch.view().version()) {
      return new Refused(
          RefusalCode.SUPERSEDED,
          "the session was registered anew: view="
              + launch.view().version()
              + " known="
              + hello.viewVersion()
              + "; stop ("
              + hello.describe()
              + ")");
    }
    long start = launch.session().startStep();
    if (hello.nextStep() != Hello.NO_STEP || wantedStep(hello, start) == start) {
      return null;
    }
    return new Refused(
        RefusalCode.START_DISAGREES,
        "the token disagrees with the session's start: token="
            + wantedStep(hello, start)
            + " session="
            + start
            + "; load the same checkpoint on all ranks, and give each launch a session of its own ("
            + hello.describe()
            + ")");
  }

  /** The grid of the training job. */
  static Grid grid(Hello hello) {
    return new Grid(hello.shape().dpSize(), hello.shape().cpSize());
  }

  /** The step a checked Hello asks for; {@code otherwise} when it names none. */
  static long wantedStep(Hello hello, long otherwise) {
    if (hello.nextStep() != Hello.NO_STEP) {
      return hello.nextStep();
    }
    Bytes token = hello.token();
    return token.length() == 0 ? otherwise : Token.decode(token).nextStep();
  }
}
