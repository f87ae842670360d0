package io.batchweave.store.s3;

import io.batchweave.store.Payload;
import io.batchweave.store.StoreException;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreFuture;
import io.batchweave.store.StoreOperation;
import io.batchweave.store.s3.S3Failures.Phase;
import java.io.IOException;
import java.net.URI;
import software.amazon.awssdk.crt.http.HttpHeader;
import software.amazon.awssdk.crt.http.HttpRequest;
import software.amazon.awssdk.crt.s3.ChecksumAlgorithm;
import software.amazon.awssdk.crt.s3.ChecksumConfig;
import software.amazon.awssdk.crt.s3.ChecksumConfig.ChecksumLocation;
import software.amazon.awssdk.crt.s3.S3FinishedResponseContext;
import software.amazon.awssdk.crt.s3.S3MetaRequestOptions;
import software.amazon.awssdk.crt.s3.S3MetaRequestOptions.MetaRequestType;
import software.amazon.awssdk.crt.s3.S3MetaRequestResponseHandler;

/** One unconditional upload in parts; the CRT repeats parts that failed, which harms nobody. */
final class MultipartUpload implements S3MetaRequestResponseHandler {
  final StoreFuture<Void> future;
  private final S3Settings settings;
  private final S3Failures failures;
  private final String key;
  private final PayloadBody body;

  MultipartUpload(
      S3Settings settings,
      S3Failures failures,
      String key,
      Payload payload,
      StoreFuture<Void> future) {
    this.settings = settings;
    this.failures = failures;
    this.key = key;
    this.body = new PayloadBody(payload);
    this.future = future;
  }

  S3MetaRequestOptions options() {
    HttpHeader[] headers = {
      new HttpHeader("Host", settings.host()),
      new HttpHeader("Content-Length", Long.toString(body.getLength()))
    };
    S3MetaRequestOptions options =
        new S3MetaRequestOptions()
            .withMetaRequestType(MetaRequestType.PUT_OBJECT)
            .withEndpoint(URI.create(settings.endpoint().toString()))
            .withHttpRequest(new HttpRequest("PUT", settings.objectPath(key), headers, body))
            .withResponseHandler(this);
    if (settings.checksums() == S3Settings.Checksums.CRC32C) {
      options.withChecksumConfig(
          new ChecksumConfig()
              .withChecksumAlgorithm(ChecksumAlgorithm.CRC32C)
              .withChecksumLocation(ChecksumLocation.HEADER));
    }
    return options;
  }

  @Override
  public void onFinished(S3FinishedResponseContext context) {
    body.close();
    IOException unreadable = body.failure();
    if (unreadable != null) {
      future.fail(
          new StoreException(
                  StoreFailure.CONFIG,
                  StoreOperation.PUT,
                  key,
                  "the payload cannot be read: reason=" + unreadable)
              .withCause(unreadable));
    } else if (context.getErrorCode() == 0) {
      future.complete(null);
    } else if (context.getResponseStatus() >= 300) {
      byte[] payload = context.getErrorPayload();
      future.fail(
          failures.ofStatus(
              StoreOperation.PUT,
              key,
              context.getResponseStatus(),
              payload == null ? S3Xml.ErrorBody.NONE : S3Xml.parseError(payload),
              ""));
    } else {
      future.fail(failures.ofCrt(StoreOperation.PUT, key, context.getErrorCode(), Phase.SENT));
    }
  }
}
