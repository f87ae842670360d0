package io.batchweave.store.s3;

import java.util.Map;

/** A complete answer: status, headers by lower-case name, and the bounded body. */
final class S3Answer {
  private final int status;
  private final Map<String, String> headers;
  private final byte[] body;

  S3Answer(int status, Map<String, String> headers, byte[] body) {
    this.status = status;
    this.headers = headers;
    this.body = body;
  }

  int status() {
    return status;
  }

  /** A header's value; empty if it is absent. */
  String header(String lowerCaseName) {
    return headers.getOrDefault(lowerCaseName, "");
  }

  /** The bytes; not copied. */
  byte[] body() {
    return body;
  }
}
