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

/** Curves over two axes, as text for terminals and RESULTS.md, and as a picture. */
final class Plot {
  /**
   * A value and how it is written.
   *
   * @param value on the axis
   * @param label beside it
   */
  record Tick(double value, String label) {}

  /**
   * An axis.
   *
   * @param name what it shows
   * @param scale how
   * @param min where it begins; positive on a logarithmic one
   * @param max where it ends; what lies beyond is drawn there
   * @param ticks what is labelled
   */
  record Axis(String name, Scale scale, double min, double max, List<Tick> ticks) {
    Axis {
      ticks = List.copyOf(ticks);
    }

    /** Where a value lies between both ends, from 0 to 1. */
    double place(double value) {
      double inside = Math.clamp(value, min, max);
      return scale == Scale.LOGARITHMIC
          ? Math.log(inside / min) / Math.log(max / min)
          : (inside - min) / (max - min);
    }
  }

  /** How values are spread over an axis. */
  enum Scale {
    /** Equal differences are equally long. */
    LINEAR,
    /** Equal ratios are equally long. */
    LOGARITHMIC
  }

  /**
   * A point.
   *
   * @param x across
   * @param y up
   */
  record Point(double x, double y) {}

  /**
   * One curve.
   *
   * @param name in the legend
   * @param points by their x, ascending
   */
  record Curve(String name, List<Point> points) {
    Curve {
      points = List.copyOf(points);
    }
  }

  private static final int ROWS = 18;
  private static final int COLUMNS = 66;
  private static final int MARGIN = 12;
  private static final int WIDTH = 960;
  private static final int HEIGHT = 600;
  private static final int LEFT = 90;
  private static final int RIGHT = 50;
  private static final int TOP = 40;
  private static final int BOTTOM = 60;
  private static final Color[] COLOURS = {
    new Color(0x0B6E4F), new Color(0x1F77B4), new Color(0xC0392B), new Color(0xE08E0B)
  };

  private final String title;
  private final Axis across;
  private final Axis up;
  private final List<Curve> curves;

  Plot(String title, Axis across, Axis up, List<Curve> curves) {
    this.title = title;
    this.across = across;
    this.up = up;
    this.curves = List.copyOf(curves);
  }

  /** For terminals and RESULTS.md; a letter marks each curve. */
  List<String> text() {
    char[][] cells = new char[ROWS + 1][COLUMNS + 1];
    for (char[] row : cells) {
      Arrays.fill(row, ' ');
    }
    for (int i = curves.size() - 1; i >= 0; i--) {
      for (Point point : curves.get(i).points()) {
        cells[row(point.y())][column(point.x())] = (char) ('A' + i);
      }
    }
    String[] labels = new String[ROWS + 1];
    Arrays.fill(labels, "");
    up.ticks().forEach(tick -> labels[row(tick.value())] = tick.label());
    List<String> lines = new ArrayList<>();
    for (int row = 0; row <= ROWS; row++) {
      String line = new String(cells[row]).stripTrailing();
      lines.add(String.format("%" + (MARGIN - 1) + "s |%s", labels[row], line));
    }
    lines.add(" ".repeat(MARGIN) + "+" + "-".repeat(COLUMNS + 1));
    StringBuilder below = new StringBuilder(" ".repeat(MARGIN + 1));
    for (Tick tick : across.ticks()) {
      int column = MARGIN + 1 + column(tick.value());
      below.append(" ".repeat(Math.max(0, column - below.length()))).append(tick.label());
    }
    lines.add(below.toString());
    for (int i = 0; i < curves.size(); i++) {
      lines.add(" ".repeat(MARGIN + 1) + (char) ('A' + i) + " " + curves.get(i).name());
    }
    return lines;
  }

  private int row(double y) {
    return ROWS - (int) Math.round(up.place(y) * ROWS);
  }

  private int column(double x) {
    return (int) Math.round(across.place(x) * COLUMNS);
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

  private int x(double value) {
    return LEFT + (int) Math.round(across.place(value) * (WIDTH - LEFT - RIGHT));
  }

  private int y(double value) {
    return HEIGHT - BOTTOM - (int) Math.round(up.place(value) * (HEIGHT - TOP - BOTTOM));
  }

  private void axes(Graphics2D ink) {
    ink.setColor(Color.BLACK);
    ink.drawString(title, LEFT, 24);
    int nameWidth = ink.getFontMetrics().stringWidth(across.name());
    ink.drawString(across.name(), (WIDTH - nameWidth) / 2, HEIGHT - 15);
    for (Tick tick : up.ticks()) {
      ink.setColor(new Color(0xDDDDDD));
      ink.drawLine(LEFT, y(tick.value()), WIDTH - RIGHT, y(tick.value()));
      ink.setColor(Color.BLACK);
      ink.drawString(tick.label(), 25, y(tick.value()) + 5);
    }
    for (Tick tick : across.ticks()) {
      ink.drawString(tick.label(), x(tick.value()) - 8, HEIGHT - BOTTOM + 20);
    }
    ink.drawLine(LEFT, y(up.min()), WIDTH - RIGHT, y(up.min()));
    ink.drawLine(LEFT, y(up.min()), LEFT, y(up.max()));
  }

  private void draw(Graphics2D ink, Curve curve, int index) {
    ink.setColor(COLOURS[index % COLOURS.length]);
    ink.setStroke(new BasicStroke(2.5f));
    Point before = null;
    for (Point point : curve.points()) {
      ink.fillOval(x(point.x()) - 4, y(point.y()) - 4, 9, 9);
      if (before != null) {
        ink.drawLine(x(before.x()), y(before.y()), x(point.x()), y(point.y()));
      }
      before = point;
    }
    ink.drawString(curve.name(), LEFT + 20, TOP + 30 + 20 * index);
  }
}
