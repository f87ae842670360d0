package io.batchweave.bridge.daemon;

import io.batchweave.BatchWeaveException;
import java.nio.file.Path;
import java.util.List;

/** A daemon in a process of its own: what {@code batchweave serve} does, without its flags. */
final class ServeMain {
  private ServeMain() {}

  /** Arguments: directory, stream, memory bytes. */
  public static void main(String[] arguments) {
    DaemonContext context =
        new DaemonContext()
            .directory(Path.of(arguments[0]))
            .streams(List.of(arguments[1]))
            .memoryBytes(Long.parseLong(arguments[2]))
            .reserveBytes(0)
            .lines(System.out::println);
    int code = DaemonMain.FAILED;
    try {
      code = DaemonMain.run(context);
    } catch (BatchWeaveException refused) {
      System.out.println(refused.getMessage());
    }
    System.exit(code);
  }
}
