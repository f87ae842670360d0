package io.batchweave.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintWriter;
import java.util.Map;

/** What a command has to say, as JSON or for people: one source for both. */
final class JsonDocument {
  static final ObjectMapper JSON = new ObjectMapper();

  private JsonDocument() {}

  static ObjectNode create() {
    return JSON.createObjectNode();
  }

  /** One JSON document. */
  static void printJson(PrintWriter out, ObjectNode document) {
    try {
      out.println(JSON.writerWithDefaultPrettyPrinter().writeValueAsString(document));
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a tree of values can be written", e);
    }
  }

  /** Scalars as "name value" lines, arrays of objects as tables. */
  static void printText(PrintWriter out, ObjectNode document) {
    document
        .properties()
        .forEach(property -> {
          if (property.getValue() instanceof ArrayNode rows) {
            if (!rows.isEmpty()) {
              out.println();
              printTable(out, rows);
            }
          } else {
            out.printf("%-10s %s%n", property.getKey(), property.getValue().asText());
          }
        });
  }

  private static void printTable(PrintWriter out, ArrayNode rows) {
    String[] header = rows.get(0).propertyStream().map(Map.Entry::getKey).toArray(String[]::new);
    TextTable table = new TextTable(header);
    rows.forEach(
        row -> table.row(row.propertyStream().map(field -> field.getValue().asText()).toArray()));
    table.print(out);
  }
}
