package io.batchweave.store.s3;

import io.batchweave.store.Payload;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.HexFormat;
import java.util.function.Consumer;
import java.util.zip.CRC32C;

/** Digests of payloads, as S3's headers want them. */
final class PayloadDigests {
  private static final int CHUNK_BYTES = 64 * 1024;

  private PayloadDigests() {}

  static String sha256Hex(Payload payload) throws IOException {
    MessageDigest digest = newDigest("SHA-256");
    feed(payload, digest::update);
    return HexFormat.of().formatHex(digest.digest());
  }

  static String crc32cBase64(Payload payload) throws IOException {
    CRC32C crc = new CRC32C();
    payload.unheld().addTo(crc);
    byte[] bigEndian = ByteBuffer.allocate(Integer.BYTES).putInt((int) crc.getValue()).array();
    return Base64.getEncoder().encodeToString(bigEndian);
  }

  static String md5Base64(byte[] bytes) {
    return Base64.getEncoder().encodeToString(newDigest("MD5").digest(bytes));
  }

  private static MessageDigest newDigest(String algorithm) {
    try {
      return MessageDigest.getInstance(algorithm);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has it: algorithm=" + algorithm, e);
    }
  }

  private static void feed(Payload payload, Consumer<ByteBuffer> digest) throws IOException {
    ByteBuffer chunk = ByteBuffer.allocate(Math.clamp(payload.lengthBytes(), 1, CHUNK_BYTES));
    try (Payload.Reader reader = payload.unheld().open()) {
      boolean done;
      do {
        chunk.clear();
        done = reader.read(chunk);
        digest.accept(chunk.flip());
      } while (!done);
    }
  }
}
