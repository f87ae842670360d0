package io.batchweave.benchmarks;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import javax.imageio.ImageIO;

/** The 99th percentile of visibility over the number of producers, both axes logarithmic. */
final class ScalingPlot {
  /**
   * One curve.
   *
   * @param name in the legend; its first letter marks it in text
   * @param producers where, ascending
   * @param millis how long
   */
  record Curve(String name, List<Integer> producers, List<Long> millis) {}

  private static final double MAX_PRODUCERS = 1_024;
  private static final double MIN_MILLIS = 10;
  private static final double MAX_MILLIS = 10_000_000;
  private static final int ROWS = 18;
  private static final int COLUMNS = 66;
  private static final int WIDTH = 960;
  private static final int HEIGHT = 600;
  private static final int LEFT = 90;
  private static final int RIGHT = 30;
  private static final int TOP = 40;
  private static final int BOTTOM = 60;
  private static final Color[] COLOURS = {
    new Color(0x0B6E4F), new Color(0x1F77B4), new Color(0xC0392B), new Color(0xE08E0B)
  };

  private final List<Curve> curves;

  ScalingPlot(List<Curve> curves) {
    this.curves = List.copyOf(curves);
  }

  private static double across(double producers) {
    return Math.log(producers) / Math.log(MAX_PRODUCERS);
  }

  private static double up(double millis) {
    return Math.log(Math.max(MIN_MILLIS, millis) / MIN_MILLIS) / Math.log(MAX_MILLIS / MIN_MILLIS);
  }

  /** For terminals and RESULTS.md. */
  List<String> text() {
    char[][] cells = new char[ROWS + 1][COLUMNS + 1];
    for (char[] row : cells) {
      Arrays.fill(row, ' ');
    }
    for (int i = curves.size() - 1; i >= 0; i--) {
      Curve curve = curves.get(i);
      for (int point = 0; point < curve.producers().size(); point++) {
        int column = (int) Math.round(across(curve.producers().get(point)) * COLUMNS);
        int row = ROWS - (int) Math.round(up(curve.millis().get(point)) * ROWS);
        cells[row][column] = (char) ('A' + i);
      }
    }
    List<String> lines = new ArrayList<>();
    for (int row = 0; row <= ROWS; row++) {
      double millis = MIN_MILLIS * Math.pow(MAX_MILLIS / MIN_MILLIS, (ROWS - row) / (double) ROWS);
      String label = row % 3 == 0 ? String.format("%8.0f ms", millis) : "";
      lines.add(String.format("%11s |%s", label, new String(cells[row]).stripTrailing()));
    }
    lines.add(" ".repeat(12) + "+" + "-".repeat(COLUMNS + 1));
    lines.add(
        " ".repeat(13) + "1            4            16           64           256        1,024");
    for (int i = 0; i < curves.size(); i++) {
      lines.add(" ".repeat(13) + (char) ('A' + i) + " " + curves.get(i).name());
    }
    return lines;
  }

  /** Writes the picture. */
  void png(Path file) throws IOException {
    System.setProperty("java.awt.headless", "true");
    BufferedImage image = new BufferedImage(WIDTH, HEIGHT, BufferedImage.TYPE_INT_RGB);
    Graphics2D ink = image.createGraphics();
    ink.setRenderingHint(RenderingHints.KEY_ANTIALIASING, RenderingHints.VALUE_ANTIALIAS_ON);
    ink.setColor(Color.WHITE);
    ink.fillRect(0, 0, WIDTH, HEIGHT);
    axes(ink);
    for (int i = 0; i < curves.size(); i++) {
      draw(ink, curves.get(i), i);
    }
    ink.dispose();
    ImageIO.write(image, "png", file.toFile());
  }

  private static int x(double producers) {
    return LEFT + (int) Math.round(across(producers) * (WIDTH - LEFT - RIGHT));
  }

  private static int y(double millis) {
    return HEIGHT - BOTTOM - (int) Math.round(up(millis) * (HEIGHT - TOP - BOTTOM));
  }

  private static void axes(Graphics2D ink) {
    ink.setColor(Color.BLACK);
    ink.drawString(
        "p99 from adding a batch until every reader can see it, virtual clock", LEFT, 24);
    ink.drawString("producers, a batch every 2 s each", WIDTH / 2 - 90, HEIGHT - 15);
    for (double millis = MIN_MILLIS; millis <= MAX_MILLIS; millis *= 10) {
      ink.setColor(new Color(0xDDDDDD));
      ink.drawLine(LEFT, y(millis), WIDTH - RIGHT, y(millis));
      ink.setColor(Color.BLACK);
      String label =
          millis < 1_000
              ? String.format("%.0f ms", millis)
              : String.format("%.0f s", millis / 1_000);
      ink.drawString(label, 25, y(millis) + 5);
    }
    for (int producers = 1; producers <= MAX_PRODUCERS; producers *= 4) {
      ink.drawString(Integer.toString(producers), x(producers) - 8, HEIGHT - BOTTOM + 20);
    }
    ink.drawLine(LEFT, y(MIN_MILLIS), WIDTH - RIGHT, y(MIN_MILLIS));
    ink.drawLine(LEFT, y(MIN_MILLIS), LEFT, y(MAX_MILLIS));
  }

  private static void draw(Graphics2D ink, Curve curve, int index) {
    ink.setColor(COLOURS[index % COLOURS.length]);
    ink.setStroke(new BasicStroke(2.5f));
    for (int point = 0; point < curve.producers().size(); point++) {
      int x = x(curve.producers().get(point));
      int y = y(curve.millis().get(point));
      ink.fillOval(x - 4, y - 4, 9, 9);
      if (point > 0) {
        int before = point - 1;
        ink.drawLine(x(curve.producers().get(before)), y(curve.millis().get(before)), x, y);
      }
    }
    ink.drawString(curve.name(), LEFT + 20, TOP + 30 + 20 * index);
  }
}
