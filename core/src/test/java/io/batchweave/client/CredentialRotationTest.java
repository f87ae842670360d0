package io.batchweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.store.ObjectStore;
import io.batchweave.store.probe.FlawedS3;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** I3: credentials of a real process that change under it. */
@Timeout(600)
class CredentialRotationTest {
  @TempDir Path root;

  private void write(String accessKeyId) throws IOException {
    String text =
        "[rotating]\naws_access_key_id = "
            + accessKeyId
            + "\naws_secret_access_key = secret\naws_session_token = token-of-"
            + accessKeyId
            + "\n";
    Path next = Files.writeString(root.resolve("next"), text);
    Files.move(next, root.resolve("credentials"), StandardCopyOption.ATOMIC_MOVE);
  }

  /** Takes only one access key id. */
  private static void takeOnly(FlawedS3 server, String accessKeyId, String otherwise) {
    server.refuse(exchange -> {
      String authorization = exchange.getRequestHeaders().getFirst("Authorization");
      boolean good =
          authorization != null && authorization.contains("Credential=" + accessKeyId + "/");
      return good ? "" : otherwise;
    });
  }

  /** I3: expired ones are read again from the profile; revoked ones end it with their name. */
  @Test
  void shouldGoOnWithNewCredentialsAndSayWhenTheyAreRevoked() throws Exception {
    try (FlawedS3 server = new FlawedS3()) {
      try (ObjectStore store = server.open()) {
        Streams.create(store, TestBatches.GRID);
      }
      takeOnly(server, "FIRST", "ExpiredToken");
      write("FIRST");
      Map<String, String> environment =
          Map.of(
              "AWS_PROFILE",
              "rotating",
              "AWS_SHARED_CREDENTIALS_FILE",
              root.resolve("credentials").toString(),
              "AWS_CONFIG_FILE",
              root.resolve("config").toString());
      try (ChildProducer child =
          ChildProducer.start(
              environment,
              ProducerMain.class,
              "-Dproducer.pending=4",
              server.url(),
              "p",
              "1000000",
              "0",
              "1")) {
        child.awaitAcks(10);
        write("SECOND");
        takeOnly(server, "SECOND", "ExpiredToken");
        child.awaitAcks(child.acks() + 50);
        takeOnly(server, "NOBODY", "InvalidAccessKeyId");
        assertEquals(1, child.exitCode(), child::end);
        String last = child.lines().getLast();
        assertTrue(last.startsWith("failed CONFIG"), last);
        assertTrue(last.contains("the access key is unknown here"), last);
      }
    }
  }
}
