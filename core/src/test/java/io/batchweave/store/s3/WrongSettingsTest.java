package io.batchweave.store.s3;

import static io.batchweave.store.Outcomes.await;
import static io.batchweave.store.Outcomes.failure;
import static io.batchweave.store.Outcomes.payload;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import io.batchweave.BatchWeaveException;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.PutOutcome;
import io.batchweave.store.StoreException;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.Stores;
import io.batchweave.store.s3proxy.LocalS3;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import software.amazon.awssdk.crt.CrtResource;

/** I2: whatever a user gets wrong is told in one clear line, with the remedy. */
@Timeout(120)
final class WrongSettingsTest {
  @TempDir static Path directory;

  private static LocalS3 server;

  @BeforeAll
  static void start() {
    server = LocalS3.start(directory.resolve("buckets"));
    server.createBucket("bucket");
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  private static void assertOneLine(
      StoreException failure, StoreFailure expected, String... mentioned) {
    String line = failure.getMessage();
    assertEquals(expected, failure.failure(), line);
    assertFalse(line.contains("\n"), line);
    assertTrue(line.length() < 600, line);
    for (String text : mentioned) {
      assertTrue(line.contains(text), line);
    }
  }

  private static StoreException firstRead(String url, Map<String, String> environment) {
    try (ObjectStore store = Stores.open(url, environment)) {
      return failure(store.get("stream", null, 1000));
    }
  }

  @Test
  void shouldNameAWrongBucket() {
    assertOneLine(
        firstRead(server.url("no-such-bucket", "root"), server.environment()),
        StoreFailure.CONFIG,
        "bucket=no-such-bucket",
        "create it or correct the URL");
  }

  @Test
  void shouldNameAWrongSecretAndAWrongKey() {
    String url = server.url("bucket", "root");
    String id = String.valueOf(server.environment().get("AWS_ACCESS_KEY_ID"));
    assertOneLine(
        firstRead(url, Map.of("AWS_ACCESS_KEY_ID", id, "AWS_SECRET_ACCESS_KEY", "wrong")),
        StoreFailure.ACCESS_DENIED,
        "AWS_SECRET_ACCESS_KEY");
    assertOneLine(
        firstRead(url, Map.of("AWS_ACCESS_KEY_ID", "nobody", "AWS_SECRET_ACCESS_KEY", "x")),
        StoreFailure.ACCESS_DENIED,
        "AWS_ACCESS_KEY_ID");
  }

  @Test
  void shouldNameAWrongRegion() throws Exception {
    assumeTrue(
        Files.isExecutable(VersityGw.binary()),
        "no versitygw at " + VersityGw.binary() + "; set " + VersityGw.VARIABLE);
    try (VersityGw strict =
        VersityGw.start(Files.createDirectories(directory.resolve("strict/buckets")))) {
      strict.createBucket("bucket");
      String url = strict.url("bucket", "root").replace("us-east-1", "eu-west-1");
      assertOneLine(
          firstRead(url, strict.environment()), StoreFailure.CONFIG, "set region=us-east-1");
      assertOneLine(
          firstRead(
              strict.url("bucket", "root"),
              Map.of("AWS_ACCESS_KEY_ID", "nobody", "AWS_SECRET_ACCESS_KEY", "x")),
          StoreFailure.ACCESS_DENIED,
          "AWS_ACCESS_KEY_ID");
    }
  }

  @Test
  void shouldNameAnEndpointWhereNobodyListens() {
    assertOneLine(
        firstRead("s3://bucket/root?endpoint=http://127.0.0.1:1", server.environment()),
        StoreFailure.UNREACHABLE,
        "endpoint=http://127.0.0.1:1",
        "nobody listens");
    assertOneLine(
        firstRead("s3://bucket/root?endpoint=http://no-such-host.invalid", server.environment()),
        StoreFailure.UNREACHABLE,
        "correct endpoint");
  }

  @Test
  void shouldNameTlsToAServiceWithoutIt() {
    assertOneLine(
        firstRead(server.url("bucket", "root") + "&tls=true", server.environment()),
        StoreFailure.UNREACHABLE,
        "tls=false");
  }

  @Test
  void shouldNameAWrongCaFile() throws Exception {
    Path noPem = Files.writeString(directory.resolve("no.pem"), "nothing");
    for (Path caFile : List.of(noPem, directory.resolve("absent.pem"))) {
      BatchWeaveException refused =
          assertThrows(
              BatchWeaveException.class,
              () ->
                  Stores.open(
                      "s3://bucket/root?endpoint=https://127.0.0.1:1&caFile=" + caFile,
                      server.environment()));
      assertEquals(BatchWeaveException.Kind.CONFIG, refused.kind());
      assertTrue(refused.getMessage().contains("caFile=" + caFile), refused.getMessage());
    }
  }

  @Test
  void shouldNameAMissingProfile() {
    BatchWeaveException refused =
        assertThrows(
            BatchWeaveException.class,
            () ->
                Stores.open(server.url("bucket", "root") + "&profile=no-such-profile", Map.of())
                    .close());
    assertEquals(BatchWeaveException.Kind.CONFIG, refused.kind());
    assertTrue(refused.getMessage().contains("profile=no-such-profile"), refused.getMessage());
  }

  /**
   * A certificate of one's own: refused without caFile, accepted with it, and named without TLS.
   */
  @Test
  void shouldTrustACustomAuthority() throws Exception {
    KeyStore keys = selfSigned(directory.resolve("keys.p12"));
    HttpsServer https =
        HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    https.setHttpsConfigurator(new HttpsConfigurator(context(keys)));
    https.createContext(
        "/",
        exchange -> {
          try (exchange) {
            exchange.getRequestBody().readAllBytes();
            exchange.sendResponseHeaders(200, -1);
          }
        });
    https.start();
    try {
      int port = https.getAddress().getPort();
      String url = "s3://bucket/root?endpoint=https://localhost:" + port;
      assertOneLine(firstRead(url, server.environment()), StoreFailure.CONFIG, "caFile");
      Path caFile = writePem(keys.getCertificate("key"));
      try (ObjectStore store = Stores.open(url + "&caFile=" + caFile, server.environment())) {
        assertEquals(PutOutcome.CREATED, await(store.putIfAbsent("v", payload(1, 1))));
      }
      StoreException plain =
          firstRead(url + "&tls=false&requestTimeoutMs=2000", server.environment());
      assertTrue(plain.getMessage().contains("tls"), plain.getMessage());
    } finally {
      https.stop(0);
    }
  }

  private static KeyStore selfSigned(Path file) throws Exception {
    Process keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                "key",
                "-keyalg",
                "RSA",
                "-keysize",
                "2048",
                "-dname",
                "CN=localhost",
                "-ext",
                "SAN=dns:localhost,ip:127.0.0.1",
                "-ext",
                "bc:c",
                "-validity",
                "3650",
                "-storetype",
                "PKCS12",
                "-storepass",
                "secret",
                "-keystore",
                file.toString())
            .redirectErrorStream(true)
            .start();
    assertTrue(keytool.waitFor(60, TimeUnit.SECONDS));
    assertEquals(0, keytool.exitValue());
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(file)) {
      keys.load(in, "secret".toCharArray());
    }
    return keys;
  }

  private static SSLContext context(KeyStore keys) throws Exception {
    KeyManagerFactory factory =
        KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    factory.init(keys, "secret".toCharArray());
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(factory.getKeyManagers(), null, null);
    return context;
  }

  private static Path writePem(Certificate certificate) throws Exception {
    String body =
        Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(certificate.getEncoded());
    return Files.writeString(
        directory.resolve("ca.pem"),
        "-----BEGIN CERTIFICATE-----\n" + body + "\n-----END CERTIFICATE-----\n");
  }

  /**
   * Memory stays flat: nothing native is left after stores were opened, used, failed and closed.
   */
  @Test
  void shouldLeaveNoNativeResourceBehind() {
    for (int i = 0; i < 5; i++) {
      try (ObjectStore store = Stores.open(server.url("bucket", "leak"), server.environment())) {
        await(store.put("key", payload(1, 1000)));
        failure(store.get("none", null, 1));
        store.get("key", null, 1000).cancel(false);
      }
    }
    List<String> left = new ArrayList<>();
    CrtResource.collectNativeResource(resource -> left.add(resource.canonicalName));
    assertEquals(List.of(), left);
  }
}
