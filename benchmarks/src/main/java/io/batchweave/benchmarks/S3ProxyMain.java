package io.batchweave.benchmarks;

import io.batchweave.store.s3proxy.LocalS3;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;

/** S3Proxy as a process of its own; ends with its standard input. */
public final class S3ProxyMain {
  private S3ProxyMain() {}

  /**
   * Serves a directory; prints endpoint, access key id and secret.
   *
   * @param arguments the directory that holds the buckets
   * @throws IOException if the standard input fails
   */
  public static void main(String[] arguments) throws IOException {
    try (LocalS3 server = LocalS3.start(Path.of(arguments[0]))) {
      Map<String, String> environment = server.environment();
      System.out.println(server.endpoint());
      System.out.println(environment.get("AWS_ACCESS_KEY_ID"));
      System.out.println(environment.get("AWS_SECRET_ACCESS_KEY"));
      System.out.flush();
      while (System.in.read() >= 0) {
        // Nothing is said; only its end counts.
      }
    }
  }
}
