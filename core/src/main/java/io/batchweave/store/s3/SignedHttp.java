package io.batchweave.store.s3;

import io.batchweave.store.StoreException;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreFuture;
import io.batchweave.store.s3.S3Failures.Phase;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.crt.CrtRuntimeException;
import software.amazon.awssdk.crt.auth.credentials.CredentialsProvider;
import software.amazon.awssdk.crt.auth.signing.AwsSigner;
import software.amazon.awssdk.crt.auth.signing.AwsSigningConfig;
import software.amazon.awssdk.crt.http.HttpClientConnection;
import software.amazon.awssdk.crt.http.HttpClientConnectionManager;
import software.amazon.awssdk.crt.http.HttpException;
import software.amazon.awssdk.crt.http.HttpHeader;
import software.amazon.awssdk.crt.http.HttpRequest;
import software.amazon.awssdk.crt.http.HttpStream;
import software.amazon.awssdk.crt.http.HttpStreamResponseHandler;

/**
 * Sends a signed request exactly once and collects its answer up to a bound. The CRT's {@code
 * S3Client} cannot be used for this: its retries cannot be turned off (a limit of 0 means the
 * default, a limit of 1 or an empty bucket of tokens still sends twice), and it buffers an endless
 * answer without a bound.
 */
final class SignedHttp {
  private static final long STOP_MS = 5_000;

  private final S3Settings settings;
  private final S3Failures failures;
  private final HttpClientConnectionManager connections;
  private final @Nullable CredentialsProvider credentials;
  private final Patience patience;

  SignedHttp(S3Settings settings, S3Failures failures, CrtResources resources) {
    this.settings = settings;
    this.failures = failures;
    this.connections = resources.connections();
    this.credentials = resources.credentials();
    this.patience = resources.patience();
  }

  /** Sends; any status is an answer, only its absence is a failure. */
  StoreFuture<S3Answer> send(S3Request request) {
    Exchange exchange = new Exchange(request);
    exchange.start();
    return exchange.future;
  }

  /** One request on its way: sign, connect, send, collect. */
  private final class Exchange implements HttpStreamResponseHandler {
    final StoreFuture<S3Answer> future = new StoreFuture<>();
    private final S3Request request;
    private final @Nullable PayloadBody body;
    private final Map<String, String> headers = new HashMap<>();
    private final ByteArrayOutputStream received = new ByteArrayOutputStream(512);
    private int status;
    private boolean tooLong;
    private volatile boolean overdue;
    private volatile long receivedBytes;
    private @Nullable HttpClientConnection connection;
    private @Nullable HttpStream stream;
    private boolean sending;
    private boolean ended;

    Exchange(S3Request request) {
      this.request = request;
      this.body =
          request.body() == null || request.body().lengthBytes() == 0
              ? null
              : new PayloadBody(request.body());
    }

    void start() {
      future.onCancel(this::cancel);
      patience.watch(future, settings.graceMs(), this::movedBytes, this::giveUp);
      try {
        var _ =
            sign()
                .whenComplete((signed, thrown) -> {
                  if (thrown != null) {
                    fail(thrown, Phase.NOT_SENT);
                  } else {
                    connect(signed);
                  }
                });
      } catch (RuntimeException e) {
        fail(e, Phase.NOT_SENT);
      }
    }

    private long movedBytes() {
      return receivedBytes + (body == null ? 0 : body.readBytes());
    }

    /**
     * The time is over. A request on its way is told to stop, and given a while to do so; one that
     * is not is over at once, and so is one whose end never comes.
     */
    private void giveUp() {
      boolean last;
      boolean sent;
      synchronized (this) {
        last = overdue;
        overdue = true;
        sent = sending;
      }
      if (sent && !last) {
        patience.watch(future, STOP_MS, () -> 0, this::giveUp);
        cancel();
        return;
      }
      if (body != null) {
        body.end();
      }
      future.fail(overdue(sent ? Phase.SENT : Phase.NOT_SENT));
    }

    private StoreException overdue(Phase phase) {
      return failures.overdue(request.operation(), request.key(), phase, movedBytes());
    }

    private CompletableFuture<HttpRequest> sign() {
      HttpRequest unsigned = toHttp();
      CredentialsProvider provider = credentials;
      if (provider == null) {
        return CompletableFuture.completedFuture(unsigned);
      }
      AwsSigningConfig signing =
          AwsSigningConfig.getDefaultS3SigningConfig(settings.region(), provider);
      signing.setSignedBodyValue(request.bodySha256());
      return AwsSigner.signRequest(unsigned, signing)
          .whenComplete((signed, thrown) -> signing.close());
    }

    private HttpRequest toHttp() {
      List<HttpHeader> all = new ArrayList<>();
      all.add(new HttpHeader("Host", settings.host()));
      request.headers().forEach((name, value) -> all.add(new HttpHeader(name, value)));
      if (request.body() != null) {
        all.add(new HttpHeader("Content-Length", Long.toString(request.body().lengthBytes())));
      }
      return new HttpRequest(
          request.method(), request.pathAndQuery(), all.toArray(HttpHeader[]::new), body);
    }

    private void connect(HttpRequest signed) {
      if (future.cancelRequested() || future.isDone()) {
        future.fail(failures.closed(request.operation(), request.key()));
        return;
      }
      try {
        var _ =
            connections
                .acquireConnection()
                .whenComplete((acquired, thrown) -> {
                  if (thrown != null) {
                    fail(thrown, Phase.NOT_SENT);
                  } else {
                    transmit(acquired, signed);
                  }
                });
      } catch (RuntimeException e) {
        fail(e, Phase.NOT_SENT);
      }
    }

    private void transmit(HttpClientConnection acquired, HttpRequest signed) {
      boolean cancelled;
      synchronized (this) {
        connection = acquired;
        cancelled = future.cancelRequested() || overdue;
        sending = !cancelled;
      }
      if (cancelled) {
        release();
        future.fail(failures.closed(request.operation(), request.key()));
        return;
      }
      HttpStream started;
      try {
        started = acquired.makeRequest(signed, this);
        synchronized (this) {
          stream = started;
        }
        started.activate();
      } catch (RuntimeException e) {
        release();
        fail(e, Phase.NOT_SENT);
        return;
      }
      if (future.cancelRequested() || overdue) {
        cancel();
      }
    }

    private synchronized void cancel() {
      HttpStream current = stream;
      if (current != null && !ended) {
        current.cancel();
      }
    }

    @Override
    public void onResponseHeaders(
        HttpStream from, int responseStatus, int blockType, HttpHeader[] nextHeaders) {
      status = responseStatus;
      for (HttpHeader header : nextHeaders) {
        headers.put(header.getName().toLowerCase(Locale.ROOT), header.getValue());
      }
    }

    @Override
    public int onResponseBody(HttpStream from, byte[] bytes) {
      long max = maxAnswerBytes();
      if (tooLong || received.size() + (long) bytes.length > max) {
        tooLong = true;
        from.cancel();
      } else {
        received.write(bytes, 0, bytes.length);
        receivedBytes = received.size();
      }
      return bytes.length;
    }

    /** An error says why in its body, even where the answer proper should be empty or short. */
    private long maxAnswerBytes() {
      boolean good = status >= 200 && status < 300;
      return good
          ? request.maxAnswerBytes()
          : Math.max(S3Request.SMALL_ANSWER_BYTES, request.maxAnswerBytes());
    }

    @Override
    public void onResponseComplete(HttpStream from, int errorCode) {
      release();
      if (tooLong) {
        future.fail(
            new StoreException(
                    StoreFailure.TOO_LONG,
                    request.operation(),
                    request.key(),
                    "longer than allowed: maxLengthBytes="
                        + maxAnswerBytes()
                        + " contentLength="
                        + headers.getOrDefault("content-length", "unknown"))
                .withHttpStatus(status));
      } else if (errorCode != 0 && overdue) {
        future.fail(overdue(Phase.SENT));
      } else if (errorCode != 0) {
        fail(new HttpException(errorCode), Phase.SENT);
      } else {
        future.complete(new S3Answer(status, headers, received.toByteArray()));
      }
    }

    private void release() {
      HttpClientConnection used;
      HttpStream finished;
      synchronized (this) {
        ended = true;
        used = connection;
        finished = stream;
        connection = null;
        stream = null;
      }
      if (finished != null) {
        finished.close();
      }
      if (used != null) {
        connections.releaseConnection(used);
      }
      if (body != null) {
        body.close();
      }
    }

    private void fail(Throwable thrown, Phase phase) {
      IOException unreadable = body == null ? null : body.failure();
      if (unreadable != null) {
        future.fail(
            new StoreException(
                    StoreFailure.CONFIG,
                    request.operation(),
                    request.key(),
                    "the payload cannot be read: reason=" + unreadable)
                .withCause(unreadable));
        return;
      }
      Throwable cause = StoreFuture.unwrap(thrown);
      int code =
          switch (cause) {
            case HttpException e -> e.getErrorCode();
            case CrtRuntimeException e -> e.errorCode;
            default -> 0;
          };
      future.fail(failures.ofCrt(request.operation(), request.key(), code, phase).withCause(cause));
    }
  }
}
