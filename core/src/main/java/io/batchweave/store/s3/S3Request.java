package io.batchweave.store.s3;

import io.batchweave.store.Payload;
import io.batchweave.store.StoreOperation;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One HTTP request that is sent exactly once.
 *
 * @param operation for errors
 * @param key for errors
 * @param method of HTTP
 * @param pathAndQuery escaped
 * @param headers without Host and Content-Length
 * @param body null: none
 * @param bodySha256 hex, or {@code UNSIGNED-PAYLOAD}
 * @param maxAnswerBytes most bytes of body to accept; more is TOO_LONG
 */
record S3Request(
    StoreOperation operation,
    String key,
    String method,
    String pathAndQuery,
    Map<String, String> headers,
    @Nullable Payload body,
    String bodySha256,
    long maxAnswerBytes) {
  static final String UNSIGNED = "UNSIGNED-PAYLOAD";

  /** Most bytes of an answer that should be empty or an error. */
  static final long SMALL_ANSWER_BYTES = 64 * 1024;

  S3Request {
    headers = new LinkedHashMap<>(headers);
  }

  static S3Request of(StoreOperation operation, String key, String method, String pathAndQuery) {
    return new S3Request(
        operation, key, method, pathAndQuery, Map.of(), null, UNSIGNED, SMALL_ANSWER_BYTES);
  }

  S3Request withHeader(String name, String value) {
    Map<String, String> more = new LinkedHashMap<>(headers);
    more.put(name, value);
    return new S3Request(
        operation, key, method, pathAndQuery, more, body, bodySha256, maxAnswerBytes);
  }

  S3Request withBody(Payload payload, String sha256) {
    return new S3Request(
        operation, key, method, pathAndQuery, headers, payload, sha256, maxAnswerBytes);
  }

  S3Request withMaxAnswerBytes(long max) {
    return new S3Request(operation, key, method, pathAndQuery, headers, body, bodySha256, max);
  }

  /** Escapes a query value as the signature wants it. */
  static String escape(String value) {
    return URLEncoder.encode(value, StandardCharsets.UTF_8)
        .replace("+", "%20")
        .replace("*", "%2A")
        .replace("%7E", "~");
  }
}
