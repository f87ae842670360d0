package io.batchweave.store.s3;

import io.batchweave.Bytes;
import io.batchweave.store.Payload;
import io.batchweave.store.StoreFuture;
import io.batchweave.store.StoreOperation;
import io.batchweave.store.StoreTraits;
import io.batchweave.store.StoreTraits.Answer;
import io.batchweave.store.StoreTraits.Trait;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import javax.xml.stream.XMLStreamException;
import org.jspecify.annotations.Nullable;

/** Asks a bucket for its rules, and sends one upload with a right checksum and one with a wrong. */
final class S3Traits {
  private static final String CHECKSUM_HEADER = "x-amz-checksum-crc32c";

  private final S3Settings settings;
  private final SignedHttp http;

  S3Traits(S3Settings settings, SignedHttp http) {
    this.settings = settings;
    this.http = http;
  }

  CompletableFuture<StoreTraits> ask(String scratchKey) {
    CompletableFuture<Trait> versioning =
        bucket("versioning").handle((answer, thrown) -> versioning(answer, thrown));
    CompletableFuture<Trait> lifecycle =
        bucket("lifecycle").handle((answer, thrown) -> lifecycle(answer, thrown));
    return versioning
        .thenCombine(lifecycle, (kept, expired) -> new StoreTraits(kept, expired, Trait.NOT_TOLD))
        .thenCombine(
            checksums(scratchKey),
            (traits, checksums) ->
                new StoreTraits(traits.versioning(), traits.lifecycle(), checksums));
  }

  private StoreFuture<S3Answer> bucket(String subresource) {
    return http.send(
        S3Request.of(
            StoreOperation.GET, subresource, "GET", settings.bucketPath() + "?" + subresource));
  }

  private static Trait versioning(@Nullable S3Answer answer, @Nullable Throwable thrown) {
    if (answer == null || answer.status() != 200) {
      return notTold(answer, thrown);
    }
    try {
      List<String> status = S3Xml.parseTexts(answer.body(), "/VersioningConfiguration/Status");
      return status.isEmpty()
          ? new Trait(Answer.NO, "never enabled")
          : new Trait(Answer.YES, status.getFirst().equals("Enabled") ? "enabled" : "suspended");
    } catch (XMLStreamException e) {
      return new Trait(Answer.NOT_TOLD, "not told: the answer is something else");
    }
  }

  private static Trait lifecycle(@Nullable S3Answer answer, @Nullable Throwable thrown) {
    if (answer != null && answer.status() == 404) {
      String code = S3Xml.parseError(answer.body()).code();
      if (code.equals("NoSuchLifecycleConfiguration")) {
        return new Trait(Answer.NO, "no rules");
      }
    }
    if (answer == null || answer.status() != 200) {
      return notTold(answer, thrown);
    }
    try {
      List<String> rules = S3Xml.parseTexts(answer.body(), "/LifecycleConfiguration/Rule/Status");
      long enabled = rules.stream().filter("Enabled"::equals).count();
      return enabled == 0
          ? new Trait(Answer.NO, "no rule in force")
          : new Trait(Answer.YES, enabled + (enabled == 1 ? " rule" : " rules") + " in force");
    } catch (XMLStreamException e) {
      return new Trait(Answer.NOT_TOLD, "not told: the answer is something else");
    }
  }

  private CompletableFuture<Trait> checksums(String scratchKey) {
    Payload right = Payload.of(Bytes.wrap("right".getBytes(StandardCharsets.UTF_8)));
    Payload wrong = Payload.of(Bytes.wrap("wrong".getBytes(StandardCharsets.UTF_8)));
    String checksum;
    try {
      checksum = PayloadDigests.crc32cBase64(right);
    } catch (IOException e) {
      throw new IllegalStateException("bytes in memory cannot fail to be read", e);
    }
    return upload(scratchKey, right, checksum)
        .thenCompose(first ->
            first.status() == 200
                ? upload(scratchKey, wrong, checksum).thenApply(S3Traits::verified)
                : CompletableFuture.completedFuture(
                    new Trait(
                        Answer.NO,
                        "refused: status=" + first.status() + "; open it with checksums=off")))
        .exceptionally(thrown -> notTold(null, thrown));
  }

  private StoreFuture<S3Answer> upload(String key, Payload body, String checksum) {
    return http.send(
        S3Request.of(StoreOperation.PUT, key, "PUT", settings.objectPath(key))
            .withHeader(CHECKSUM_HEADER, checksum)
            .withBody(body, S3Request.UNSIGNED));
  }

  private static Trait verified(S3Answer second) {
    return switch (second.status()) {
      case 200 -> new Trait(Answer.NO, "taken and ignored: a wrong one was accepted");
      case 400 -> new Trait(Answer.YES, "verified: a wrong one was refused");
      default -> new Trait(Answer.NOT_TOLD, "not told: status=" + second.status());
    };
  }

  private static Trait notTold(@Nullable S3Answer answer, @Nullable Throwable thrown) {
    if (answer != null) {
      return new Trait(Answer.NOT_TOLD, "not told: status=" + answer.status());
    }
    String why =
        thrown == null ? "no answer" : String.valueOf(StoreFuture.unwrap(thrown).getMessage());
    return new Trait(Answer.NOT_TOLD, "not told: " + why);
  }
}
