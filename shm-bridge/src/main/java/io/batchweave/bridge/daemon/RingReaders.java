package io.batchweave.bridge.daemon;

import io.batchweave.BatchWeaveException;
import io.batchweave.bridge.handshake.Answer;
import io.batchweave.bridge.handshake.HandshakeProtocol;
import io.batchweave.bridge.handshake.Hello;
import io.batchweave.bridge.handshake.RefusalCode;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.ring.Id128;
import io.batchweave.bridge.ring.ReaderFile;
import io.batchweave.bridge.ring.ReaderView;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The reader files of one ring, and the Hellos of their ranks that were not answered yet. One
 * thread.
 */
final class RingReaders implements AutoCloseable {
  private static final int NOT_YET_RETRY_MILLIS = 100;

  /** A Hello that was not answered yet. */
  private record Waiting(Hello hello, long untilNs) {}

  private final NativeMemory memory;
  private final Path directory;
  private final BiConsumer<Hello, Answer> answers;
  private final Map<Id128, ReaderFile> files = new HashMap<>();
  private final Map<Id128, Waiting> waiting = new HashMap<>();

  /** The same files, to be gone through in every duty cycle without garbage. */
  private List<ReaderFile> list = List.of();

  RingReaders(NativeMemory memory, Path directory, BiConsumer<Hello, Answer> answers) {
    this.memory = memory;
    this.directory = directory;
    this.answers = answers;
  }

  /** Opens the reader file of a rank that says Hello, or looks at its lock again. */
  Answer.@Nullable Refused open(Hello hello, Id128 id) {
    ReaderFile file = files.get(id);
    if (file == null) {
      try {
        file = ReaderFile.open(memory, directory, id);
      } catch (BatchWeaveException | InternalError e) {
        return new Answer.Refused(RefusalCode.READER_FILE, String.valueOf(e.getMessage()));
      }
      if (file == null) {
        return new Answer.Refused(
            RefusalCode.READER_FILE, "no such reader file here: file=" + hello.readerFile());
      }
      files.put(id, file);
      list = List.copyOf(files.values());
    }
    if (!file.isLocked()) {
      forget(id);
      return new Answer.Refused(
          RefusalCode.LOCK_NOT_VISIBLE,
          "the daemon cannot see the lock of the reader file: file="
              + hello.readerFile()
              + "; run daemon and ranks under one kernel (not gVisor or Kata)");
    }
    return null;
  }

  /** Looks after a file that was found with a ring. */
  void adopt(ReaderFile file) {
    files.put(file.id(), file);
    list = List.copyOf(files.values());
  }

  boolean contains(Id128 id) {
    return files.containsKey(id);
  }

  /** An opened file; null when it is not looked after. */
  @Nullable ReaderFile find(Id128 id) {
    return files.get(id);
  }

  /** What a rank wrote, also when its file is gone. */
  ReaderView view(Id128 id) {
    ReaderFile file = files.get(id);
    return file == null ? ReaderView.GONE : file;
  }

  /** All of them, as they were when this was called. */
  List<ReaderFile> list() {
    return list;
  }

  /** Whether a rank has taken all steps that were given a place. */
  boolean isAnyOutOfSteps(long allocatedCount) {
    for (int i = 0; i < list.size(); i++) {
      ReaderFile file = list.get(i);
      if (file.isAttached() && file.taken() >= allocatedCount) {
        return true;
      }
    }
    return false;
  }

  /** Looks after it no more; its Hello goes unanswered. */
  void forget(Id128 id) {
    waiting.remove(id);
    ReaderFile file = files.remove(id);
    if (file != null) {
      list = List.copyOf(files.values());
      file.close();
    }
  }

  /** The same for a rank that is gone: its file goes too. */
  void drop(Id128 id) {
    ReaderFile file = files.get(id);
    if (file != null) {
      file.unlink();
    }
    forget(id);
  }

  // ---- answers

  /** A Hello is to be answered, at the latest after the time that the protocol gives. */
  void expectAnswer(Id128 id, Hello hello, long nowNs) {
    waiting.put(id, new Waiting(hello, nowNs + HandshakeProtocol.HOLD_NS));
  }

  boolean isAnyWaiting() {
    return !waiting.isEmpty();
  }

  /**
   * Answers a rank, if its Hello still waits.
   *
   * @return whether it did
   */
  boolean answer(Id128 id, Supplier<Answer> answer) {
    Waiting pending = waiting.remove(id);
    if (pending != null) {
      answers.accept(pending.hello(), answer.get());
    }
    return pending != null;
  }

  /** Says NOT_YET to those that have waited long enough. */
  void answerNotYet(long nowNs, Supplier<String> whatIsAwaited) {
    if (waiting.isEmpty()) {
      return;
    }
    for (Map.Entry<Id128, Waiting> entry : List.copyOf(waiting.entrySet())) {
      if (nowNs - entry.getValue().untilNs() >= 0) {
        answer(
            entry.getKey(), () -> Answer.Refused.notYet(whatIsAwaited.get(), NOT_YET_RETRY_MILLIS));
      }
    }
  }

  /** Tells all that wait that the daemon ends. */
  void answerClosing() {
    for (Id128 id : List.copyOf(waiting.keySet())) {
      answer(id, () -> new Answer.Refused(RefusalCode.CLOSING, "the daemon is stopping"));
    }
  }

  @Override
  public void close() {
    list.forEach(ReaderFile::close);
  }
}
