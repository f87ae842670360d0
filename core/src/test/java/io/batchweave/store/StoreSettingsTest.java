package io.batchweave.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class StoreSettingsTest {
  @Test
  void shouldTakeUrlsApart() {
    assertEquals(new StoreUrl("file", "", "/a/b", Map.of()), StoreUrl.parse("/a/b"));
    assertEquals(new StoreUrl("file", "", "relative/b", Map.of()), StoreUrl.parse("relative/b"));
    assertEquals(new StoreUrl("file", "", "/a/b", Map.of()), StoreUrl.parse("file:/a/b"));
    assertEquals(new StoreUrl("file", "", "/a/b", Map.of()), StoreUrl.parse("file:///a/b"));
    assertEquals(
        new StoreUrl("s3", "my-bucket", "some/prefix", Map.of("endpoint", "http://h:1", "tls", "")),
        StoreUrl.parse("s3://my-bucket/some/prefix/?endpoint=http%3A%2F%2Fh%3A1&tls="));
    assertEquals(new StoreUrl("s3", "my-bucket", "", Map.of()), StoreUrl.parse("s3://my-bucket"));
  }

  @Test
  void shouldRefuseWhatIsNoUrlOfAStore() {
    for (String url :
        List.of(
            "",
            "file:",
            "gs://bucket/prefix",
            "http://host",
            "s3://",
            "s3:///prefix",
            "s3://A/x",
            "s3://bucket/../x",
            "s3://bucket/a b",
            "file://host/path",
            "s3://bucket?x",
            "s3://bucket?tls=true&tls=false",
            "s3://bucket?tls=%zz")) {
      BatchWeaveException refused =
          assertThrows(BatchWeaveException.class, () -> StoreUrl.parse(url), url);
      assertEquals(BatchWeaveException.Kind.CONFIG, refused.kind());
      assertTrue(refused.getMessage().contains("url=" + url), refused.getMessage());
    }
  }

  @Test
  void shouldNameTheKnownSettingsWhenOneIsUnknown() {
    BatchWeaveException refused =
        assertThrows(
            BatchWeaveException.class, () -> Stores.open("s3://bucket/p?pathstyle=true", Map.of()));
    assertEquals(BatchWeaveException.Kind.CONFIG, refused.kind());
    assertTrue(refused.getMessage().contains("name=pathstyle"), refused.getMessage());
    assertTrue(refused.getMessage().contains("pathStyle"), refused.getMessage());
    assertThrows(BatchWeaveException.class, () -> Stores.open("/tmp?region=x", Map.of()));
  }

  @Test
  void shouldPreferTheUrlToTheEnvironmentToTheDefault() {
    Map<String, String> environment =
        Map.of("BATCHWEAVE_S3_REGION", "from-variable", "BATCHWEAVE_S3_PART_SIZE_BYTES", "9000000");
    StoreSettings byUrl =
        StoreSettings.resolve(StoreUrl.parse("s3://bucket?region=from-url"), environment);
    assertEquals("from-url", byUrl.text(StoreSetting.S3_REGION));
    assertEquals(9_000_000, byUrl.number(StoreSetting.S3_PART_SIZE_BYTES, 0, 1L << 40));
    StoreSettings byVariable = StoreSettings.resolve(StoreUrl.parse("s3://bucket"), environment);
    assertEquals("from-variable", byVariable.text(StoreSetting.S3_REGION));
    assertEquals("when_required", byVariable.text(StoreSetting.S3_CHECKSUMS));
  }

  @Test
  void shouldSayWhatAValueShouldBe() {
    for (String query :
        List.of(
            "partSizeBytes=big",
            "partSizeBytes=1",
            "tls=yes",
            "checksums=sha1",
            "credentials=mine",
            "connectTimeoutMs=-1",
            "endpoint=ftp://host",
            "endpoint=http://host/path",
            "endpoint=http://")) {
      BatchWeaveException refused =
          assertThrows(
              BatchWeaveException.class,
              () -> Stores.open("s3://bucket?" + query, Map.of()).close(),
              query);
      assertEquals(BatchWeaveException.Kind.CONFIG, refused.kind(), query);
      assertTrue(refused.getMessage().contains("expected"), refused.getMessage());
    }
  }

  @Test
  void shouldDescribeEverySetting() {
    String text = StoreSettings.describe();
    for (StoreSetting setting : StoreSetting.values()) {
      assertTrue(text.contains("?" + setting.label() + "=" + setting.example()), text);
      assertTrue(text.contains(setting.variable()), text);
      assertTrue(text.contains(setting.description()), text);
    }
    assertEquals("BATCHWEAVE_S3_PATH_STYLE", StoreSetting.S3_PATH_STYLE.variable());
    assertEquals("BATCHWEAVE_S3_CONNECT_TIMEOUT_MS", StoreSetting.S3_CONNECT_TIMEOUT_MS.variable());
  }
}
