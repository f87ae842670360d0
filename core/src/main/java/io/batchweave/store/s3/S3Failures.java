package io.batchweave.store.s3;

import io.batchweave.store.StoreException;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreOperation;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.crt.CRT;

/** Turns statuses and errors of the CRT into {@link StoreFailure}s, each with one clear line. */
final class S3Failures {
  private static final int SERVICE_MESSAGE_CHARS = 200;

  private static final String NO_TLS =
      "no TLS connection; set caFile if the service has a certificate of its own,"
          + " or tls=false if it speaks plain HTTP";

  private final S3Settings settings;

  S3Failures(S3Settings settings) {
    this.settings = settings;
  }

  /** Where a request was when it failed. */
  enum Phase {
    /** Before anything was sent: no effect. */
    NOT_SENT,
    /** Anything may have happened. */
    SENT
  }

  StoreException ofStatus(
      StoreOperation operation, String key, int status, S3Xml.ErrorBody body, String region) {
    StoreFailure failure = classify(operation, status, body.code());
    return new StoreException(failure, operation, key, describe(failure, status, body, region))
        .withHttpStatus(status);
  }

  private static StoreFailure classify(StoreOperation operation, int status, String code) {
    StoreFailure byCode = byCode(code);
    if (byCode != null) {
      return byCode;
    }
    boolean put = operation == StoreOperation.PUT || operation == StoreOperation.PUT_IF_ABSENT;
    return switch (status) {
      case 301, 302, 307, 308, 400, 405, 411, 413, 501 -> StoreFailure.CONFIG;
      case 401, 403 -> StoreFailure.ACCESS_DENIED;
      case 404 ->
          !put && operation != StoreOperation.LIST && saysNoObject(code)
              ? StoreFailure.NOT_FOUND
              : StoreFailure.CONFIG;
      case 409 -> StoreFailure.CONFLICT;
      case 416 -> StoreFailure.RANGE;
      case 429, 503 -> StoreFailure.THROTTLED;
      case 507 -> StoreFailure.FULL;
      default ->
          status >= 200 && status < 300 && !operation.mutating()
              ? StoreFailure.BAD_ANSWER
              : StoreFailure.UNCLEAR;
    };
  }

  /** A 404 may also be about the bucket or the user: only these are about the object. */
  private static boolean saysNoObject(String code) {
    return switch (code) {
      case "", "NoSuchKey", "NotFound", "NoSuchObject" -> true;
      default -> false;
    };
  }

  private static @Nullable StoreFailure byCode(String code) {
    return switch (code) {
      case "SlowDown",
          "Throttling",
          "ThrottlingException",
          "RequestLimitExceeded",
          "ServiceUnavailable",
          "TooManyRequests",
          "SlowDownRead",
          "SlowDownWrite" ->
          StoreFailure.THROTTLED;
      case "RequestTimeout",
          "BadDigest",
          "XAmzContentSHA256Mismatch",
          "XAmzContentChecksumMismatch",
          "IncompleteBody" ->
          StoreFailure.UNCLEAR;
      case "ConditionalRequestConflict", "OperationAborted" -> StoreFailure.CONFLICT;
      case "NoSuchBucket",
          "AuthorizationHeaderMalformed",
          "PermanentRedirect",
          "TemporaryRedirect",
          "NotImplemented",
          "ExistingObjectIsDirectory",
          "ObjectParentIsFile",
          "KeyTooLongError",
          "EntityTooLarge" ->
          StoreFailure.CONFIG;
      case "ExpiredToken",
          "InvalidAccessKeyId",
          "InvalidToken",
          "RequestTimeTooSkewed",
          "SignatureDoesNotMatch",
          "TokenRefreshRequired",
          "XAdminUserNotFound" ->
          StoreFailure.ACCESS_DENIED;
      case "QuotaExceeded", "XMinioStorageFull", "InsufficientStorage" -> StoreFailure.FULL;
      default -> null;
    };
  }

  private String describe(
      StoreFailure failure, int status, S3Xml.ErrorBody body, String headerRegion) {
    String region = body.region().isEmpty() ? headerRegion : body.region();
    String remedy =
        switch (body.code()) {
          case "NoSuchBucket" -> "there is no such bucket; create it or correct the URL";
          case "InvalidAccessKeyId", "XAdminUserNotFound" ->
              "the access key is unknown here; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
          case "SignatureDoesNotMatch" ->
              "the secret key is wrong; set AWS_SECRET_ACCESS_KEY (or correct the region)";
          case "ExpiredToken", "TokenRefreshRequired", "InvalidToken" ->
              "the credentials have expired; renew them";
          case "RequestTimeTooSkewed" -> "the clock of this machine is wrong; set it";
          case "AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect" ->
              regionRemedy(region);
          case "NotImplemented" -> "the service does not do this; try checksums=off";
          case "ExistingObjectIsDirectory", "ObjectParentIsFile" ->
              "a key must not be a folder of another key";
          default -> byFailure(failure, status, region);
        };
    String said = clip(body.code().isEmpty() ? "" : " code=" + body.code());
    String message = clip(body.message().isEmpty() ? "" : " message=" + body.message());
    return remedy + ": " + settings.place() + said + message;
  }

  private static String regionRemedy(String region) {
    return region.isEmpty()
        ? "the bucket is in another region; set region"
        : "the bucket is in another region; set region=" + region;
  }

  private static String byFailure(StoreFailure failure, int status, String region) {
    return switch (failure) {
      case THROTTLED -> "the service asks to slow down";
      case UNCLEAR -> "the service failed; whether it did the request is not known";
      case CONFLICT -> "another request was in the way; the same one may be tried again";
      case ACCESS_DENIED -> "access denied; check credentials and the bucket's policy";
      case NOT_FOUND -> "there is no such object";
      case RANGE -> "the range goes past the end";
      case FULL -> "no space left; free some or raise the quota";
      case BAD_ANSWER -> "the answer is not what was asked for";
      case CONFIG ->
          switch (status) {
            case 301, 302, 307, 308 -> regionRemedy(region);
            case 404 -> "there is no such bucket or user; correct the URL or the credentials";
            case 501 -> "the service does not do this; try checksums=off";
            default -> "the service refuses such requests; check endpoint, bucket and settings";
          };
      default -> "the request failed";
    };
  }

  private static String clip(String text) {
    String line = text.replace('\n', ' ').replace('\r', ' ');
    return line.length() <= SERVICE_MESSAGE_CHARS
        ? line
        : line.substring(0, SERVICE_MESSAGE_CHARS) + "...";
  }

  StoreException ofCrt(StoreOperation operation, String key, int errorCode, Phase phase) {
    String name = String.valueOf(CRT.awsErrorName(errorCode));
    String text = " error=" + name + " (" + CRT.awsErrorString(errorCode) + ")";
    StoreFailure failure = classifyCrt(operation, name, phase);
    String remedy =
        switch (name) {
          case "AWS_IO_SOCKET_CONNECTION_REFUSED" ->
              "nobody listens there; correct the endpoint or start the service";
          case "AWS_IO_DNS_QUERY_FAILED",
              "AWS_IO_DNS_INVALID_NAME",
              "AWS_IO_DNS_NO_ADDRESS_FOR_HOST" ->
              "the host has no address; correct endpoint, bucket or pathStyle";
          case "AWS_IO_TLS_ERROR_NEGOTIATION_FAILURE",
              "AWS_IO_TLS_NEGOTIATION_TIMEOUT",
              "AWS_IO_TLS_ERROR_ALERT_RECEIVED" ->
              NO_TLS;
          case "AWS_ERROR_HTTP_PROTOCOL_ERROR" ->
              "the answer is not HTTP; set tls=true if the service speaks TLS";
          case "AWS_IO_SOCKET_CLOSED", "AWS_ERROR_HTTP_CONNECTION_CLOSED" -> closedRemedy(phase);
          case "AWS_ERROR_HTTP_RESPONSE_FIRST_BYTE_TIMEOUT",
              "AWS_ERROR_HTTP_CHANNEL_THROUGHPUT_FAILURE" ->
              "no answer in time, requestTimeoutMs="
                  + settings.limits().requestTimeoutMs()
                  + " (a service that speaks TLS stays silent with tls=false)";
          case "AWS_ERROR_S3_CANCELED" ->
              "stopped: not over in time, requestTimeoutMs="
                  + settings.limits().requestTimeoutMs()
                  + "; the service or the way to it is too slow";
          case "AWS_ERROR_DEST_COPY_TOO_SMALL",
              "AWS_ERROR_S3_MISSING_CONTENT_RANGE_HEADER",
              "AWS_ERROR_S3_INVALID_CONTENT_RANGE_HEADER",
              "AWS_ERROR_S3_INTERNAL_BUFFER_SIZE_MISMATCH_RETRYING_WITH_RANGE" ->
              "the service answered something other than the range";
          default ->
              name.startsWith("AWS_AUTH_")
                  ? "no usable credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,"
                      + " a profile, or a role"
                  : byFailure(failure, 0, "");
        };
    int status =
        name.equals("AWS_ERROR_S3_SLOW_DOWN")
            ? 503
            : name.equals("AWS_ERROR_S3_INTERNAL_ERROR") ? 500 : 0;
    return new StoreException(failure, operation, key, remedy + ": " + settings.place() + text)
        .withHttpStatus(status);
  }

  private String closedRemedy(Phase phase) {
    if (phase == Phase.NOT_SENT && settings.endpoint().getScheme().equals("https")) {
      return NO_TLS;
    }
    return "the connection was closed without an answer; if it always is, check tls";
  }

  private static StoreFailure classifyCrt(StoreOperation operation, String name, Phase phase) {
    if (name.startsWith("AWS_AUTH_")) {
      return StoreFailure.ACCESS_DENIED;
    }
    if (name.startsWith("AWS_IO_TLS_") && (phase == Phase.NOT_SENT || !operation.mutating())) {
      return StoreFailure.CONFIG;
    }
    if (name.startsWith("AWS_IO_DNS_")) {
      return StoreFailure.UNREACHABLE;
    }
    return switch (name) {
      case "AWS_ERROR_S3_SLOW_DOWN", "AWS_ERROR_S3_EXCEEDS_MEMORY_LIMIT" -> StoreFailure.THROTTLED;
      case "AWS_IO_SOCKET_CONNECTION_REFUSED",
          "AWS_IO_SOCKET_NO_ROUTE_TO_HOST",
          "AWS_IO_SOCKET_NETWORK_DOWN" ->
          StoreFailure.UNREACHABLE;
      case "AWS_ERROR_NO_SPACE" -> StoreFailure.FULL;
      case "AWS_ERROR_FILE_OPEN_FAILURE",
          "AWS_ERROR_FILE_WRITE_FAILURE",
          "AWS_ERROR_S3_RECV_FILE_NOT_FOUND",
          "AWS_ERROR_S3_PART_SIZE_EXCEEDS_MEMORY_LIMIT" ->
          StoreFailure.CONFIG;
      case "AWS_ERROR_DEST_COPY_TOO_SMALL",
          "AWS_ERROR_S3_MISSING_CONTENT_RANGE_HEADER",
          "AWS_ERROR_S3_INVALID_CONTENT_RANGE_HEADER",
          "AWS_ERROR_S3_MISSING_CONTENT_LENGTH_HEADER",
          "AWS_ERROR_S3_INVALID_CONTENT_LENGTH_HEADER",
          "AWS_ERROR_S3_MISSING_ETAG",
          "AWS_ERROR_S3_OBJECT_MODIFIED",
          "AWS_ERROR_S3_INTERNAL_BUFFER_SIZE_MISMATCH_RETRYING_WITH_RANGE",
          "AWS_ERROR_HTTP_PROTOCOL_ERROR" ->
          operation.mutating() ? StoreFailure.UNCLEAR : StoreFailure.BAD_ANSWER;
      default -> phase == Phase.NOT_SENT ? StoreFailure.UNREACHABLE : StoreFailure.UNCLEAR;
    };
  }

  /** Its time was over before it had ended. */
  StoreException overdue(StoreOperation operation, String key, Phase phase, long movedBytes) {
    return new StoreException(
        phase == Phase.NOT_SENT ? StoreFailure.UNREACHABLE : StoreFailure.UNCLEAR,
        operation,
        key,
        "not over in time: graceMs="
            + settings.graceMs()
            + " movedBytes="
            + movedBytes
            + " requestTimeoutMs="
            + settings.limits().requestTimeoutMs()
            + "; the service or the way to it is too slow: "
            + settings.place());
  }

  StoreException closed(StoreOperation operation, String key) {
    return new StoreException(StoreFailure.CLOSED, operation, key, "the store is closed");
  }

  StoreException badAnswer(StoreOperation operation, String key, String what) {
    return new StoreException(
        operation.mutating() ? StoreFailure.UNCLEAR : StoreFailure.BAD_ANSWER,
        operation,
        key,
        "the answer is not what was asked for: " + what + " " + settings.place());
  }
}
