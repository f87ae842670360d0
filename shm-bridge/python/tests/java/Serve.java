import io.batchweave.bridge.daemon.DaemonContext;
import io.batchweave.bridge.daemon.DaemonMain;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs a daemon: {@code directory memoryBytes rings hold localRanksTimeoutMillis URL…}. */
public final class Serve {
  private Serve() {}

  public static void main(String[] arguments) {
    List<String> streams = Arrays.asList(arguments).subList(5, arguments.length);
    DaemonContext context =
        new DaemonContext()
            .directory(Path.of(arguments[0]))
            .memoryBytes(Long.parseLong(arguments[1]))
            .rings(Integer.parseInt(arguments[2]))
            .hold(Integer.parseInt(arguments[3]))
            .localReadersTimeoutNs(TimeUnit.MILLISECONDS.toNanos(Long.parseLong(arguments[4])))
            .reserveBytes(0)
            .streams(streams)
            .lines(System.out::println);
    System.exit(DaemonMain.run(context));
  }
}
