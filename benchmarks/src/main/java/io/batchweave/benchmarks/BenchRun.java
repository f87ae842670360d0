package io.batchweave.benchmarks;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;

/**
 * How a bar is to be measured, and where it says how far it is.
 *
 * @param pace how long to take
 * @param out progress and tables
 * @param directory where pictures go
 */
public record BenchRun(Pace pace, PrintStream out, Path directory) {
  /** How much time a figure gets. */
  public enum Pace {
    /** Enough to see that it works and about where it stands. */
    QUICK,
    /** Enough for an interval that means something. */
    FULL
  }

  /**
   * Rounds for a pace.
   *
   * @param full at full pace; a quick run takes a fifth, but at least three
   */
  public int rounds(int full) {
    return pace == Pace.FULL ? full : Math.max(3, full / 5);
  }

  /**
   * Prints curves and writes their picture.
   *
   * @param name of the bar
   * @param plot the curves
   */
  void show(String name, Plot plot) throws IOException {
    plot.text().forEach(line -> say("  " + line));
    Path file = directory.resolve(name + ".png");
    plot.png(file);
    say("  picture: " + name + ".png");
  }

  /**
   * Prints a line.
   *
   * @param line without its end
   */
  public void say(String line) {
    out.println(line);
    out.flush();
  }
}
