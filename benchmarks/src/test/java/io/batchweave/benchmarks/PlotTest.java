package io.batchweave.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class PlotTest {
  private static final Plot.Axis DECADES =
      new Plot.Axis(
          "decades",
          Plot.Scale.LOGARITHMIC,
          1,
          100,
          List.of(new Plot.Tick(1, "1"), new Plot.Tick(10, "10"), new Plot.Tick(100, "100")));
  private static final Plot.Axis TIMES =
      new Plot.Axis("times", Plot.Scale.LINEAR, 0, 2, List.of(new Plot.Tick(1, "once")));

  @Test
  void shouldPlaceValuesByTheScaleAndAtTheEndsWhenTheyLieBeyond() {
    assertEquals(0.5, DECADES.place(10), 1e-9);
    assertEquals(0.25, TIMES.place(0.5), 1e-9);
    assertEquals(1, DECADES.place(1e6));
    assertEquals(0, TIMES.place(-1));
  }

  @Test
  void shouldMarkPointsByTheLetterOfTheirCurveBesideTheLabelOfTheirRow() {
    List<String> lines =
        new Plot(
                "title",
                DECADES,
                TIMES,
                List.of(
                    new Plot.Curve("first", List.of(new Plot.Point(1, 1), new Plot.Point(10, 2))),
                    new Plot.Curve("second", List.of(new Plot.Point(100, 1)))))
            .text();
    String once = lines.stream().filter(line -> line.contains("once")).findFirst().orElse("");
    assertEquals("       once |A" + " ".repeat(65) + "B", once);
    assertEquals(" ".repeat(11) + " |" + " ".repeat(33) + "A", lines.getFirst());
    assertTrue(
        lines.contains(" ".repeat(13) + "1" + " ".repeat(32) + "10" + " ".repeat(31) + "100"));
    assertEquals(" ".repeat(13) + "B second", lines.getLast());
  }
}
