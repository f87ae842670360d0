package io.batchweave.ingest;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Takes the text out of one JSONL line. */
final class JsonlLine {
  private static final JsonFactory JSON =
      JsonFactory.builder()
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxStringLength(JsonlTokens.LINE_BYTES)
                  .maxNestingDepth(256)
                  .build())
          .build();

  private final String textField;

  JsonlLine(String textField) {
    this.textField = textField;
  }

  /** What a line gives. */
  sealed interface Result {}

  /** A document. */
  static final class Text implements Result {
    private final byte[] utf8;

    private Text(byte[] utf8) {
      this.utf8 = utf8;
    }

    byte[] utf8() {
      return utf8;
    }
  }

  /** Nothing: white space only. */
  record Blank() implements Result {}

  /** An error. */
  record Invalid(String reason) implements Result {}

  /**
   * Parses a line.
   *
   * @param line without its end; null if it was too long
   */
  Result parse(byte @Nullable [] line) {
    if (line == null) {
      return new Invalid("longer than " + JsonlTokens.LINE_BYTES + " bytes");
    }
    String text;
    try {
      text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(line)).toString();
    } catch (CharacterCodingException e) {
      return new Invalid("not UTF-8");
    }
    if (text.isBlank()) {
      return new Blank();
    }
    try (JsonParser json = JSON.createParser(text)) {
      return parse(json);
    } catch (IOException e) {
      return new Invalid("not JSON: " + firstLine(e.getMessage()));
    }
  }

  private Result parse(JsonParser json) throws IOException {
    if (json.nextToken() != JsonToken.START_OBJECT) {
      return new Invalid("not a JSON object");
    }
    String found = null;
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      boolean wanted = json.currentName().equals(textField);
      JsonToken value = json.nextToken();
      if (!wanted) {
        json.skipChildren();
      } else if (found != null) {
        return new Invalid("field given twice: field=" + textField);
      } else if (value != JsonToken.VALUE_STRING) {
        return new Invalid("field is not text: field=" + textField);
      } else {
        found = json.getText();
      }
    }
    if (json.nextToken() != null) {
      return new Invalid("something follows the JSON object");
    }
    if (found == null) {
      return new Invalid("no such field: field=" + textField);
    }
    try {
      ByteBuffer utf8 = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(found));
      byte[] bytes = new byte[utf8.remaining()];
      utf8.get(bytes);
      return new Text(bytes);
    } catch (CharacterCodingException e) {
      return new Invalid("text with half a surrogate pair: field=" + textField);
    }
  }

  private static String firstLine(@Nullable String message) {
    return message == null ? "" : message.lines().findFirst().orElse("");
  }
}
