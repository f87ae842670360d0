package io.batchweave.cli;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/** A table for a terminal: columns as wide as their widest cell, numbers to the right. */
final class TextTable {
  private final List<String> header;
  private final List<List<String>> rows = new ArrayList<>();

  TextTable(String... header) {
    this.header = List.of(header);
  }

  /** Adds a row; cells are printed by {@link String#valueOf(Object)}. */
  TextTable row(Object... cells) {
    if (cells.length != header.size()) {
      throw new IllegalArgumentException(
          "a row of " + cells.length + " cells in a table of " + header.size() + " columns");
    }
    List<String> row = new ArrayList<>();
    for (Object cell : cells) {
      row.add(String.valueOf(cell));
    }
    rows.add(row);
    return this;
  }

  /** Prints header and rows. */
  void print(PrintWriter out) {
    int[] widths = header.stream().mapToInt(String::length).toArray();
    for (List<String> row : rows) {
      for (int column = 0; column < widths.length; column++) {
        widths[column] = Math.max(widths[column], row.get(column).length());
      }
    }
    printRow(out, header, widths);
    for (List<String> row : rows) {
      printRow(out, row, widths);
    }
  }

  private static void printRow(PrintWriter out, List<String> row, int[] widths) {
    StringBuilder line = new StringBuilder();
    for (int column = 0; column < widths.length; column++) {
      String cell = row.get(column);
      String padding = " ".repeat(widths[column] - cell.length());
      boolean number = !cell.isEmpty() && cell.chars().allMatch(c -> c >= '+' && c <= '9');
      line.append(number ? padding + cell : cell + padding).append("  ");
    }
    out.println(line.toString().stripTrailing());
  }
}
