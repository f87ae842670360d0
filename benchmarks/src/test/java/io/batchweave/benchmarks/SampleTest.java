package io.batchweave.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class SampleTest {
  private static Sample of(double... values) {
    Sample sample = new Sample();
    for (double value : values) {
      sample.add(value);
    }
    return sample;
  }

  @Test
  void shouldTakeTheMiddleWhenTheCountIsOdd() {
    assertEquals(3, of(9, 1, 3).median());
  }

  @Test
  void shouldTakeTheMeanOfTheMiddleTwoWhenTheCountIsEven() {
    assertEquals(2.5, of(4, 1, 2, 3).median());
  }

  @Test
  void shouldKeepValuesInTheOrderInWhichTheyCameWhenTheMedianWasAsked() {
    Sample sample = of(9, 1, 3);
    sample.median();
    sample.interval();
    assertEquals(9, sample.value(0));
    assertEquals(3, sample.value(2));
  }

  @Test
  void shouldGrowWhenThereAreManyValues() {
    Sample sample = new Sample();
    for (int i = 0; i <= 1000; i++) {
      sample.add(i);
    }
    assertEquals(1001, sample.count());
    assertEquals(500, sample.median());
  }

  @Test
  void shouldEncloseTheMedianAndTellSpreadFromNoneWhenAskedForTheInterval() {
    Sample spread = new Sample();
    for (int i = 0; i < 101; i++) {
      spread.add(i);
    }
    Sample.Interval wide = spread.interval();
    assertTrue(wide.low() < 50 && wide.high() > 50, wide.toString());
    assertTrue(wide.low() > 20 && wide.high() < 80, wide.toString());
    assertEquals(new Sample.Interval(7, 7), of(7, 7, 7, 7).interval());
    assertEquals(wide, spread.interval());
  }

  @Test
  void shouldTakeTheSmallestThatCoversTheShareWhenAskedForAQuantile() {
    Sample sample = of(30, 10, 20, 40);
    assertEquals(10, sample.quantile(0));
    assertEquals(20, sample.quantile(0.5));
    assertEquals(30, sample.quantile(0.51));
    assertEquals(40, sample.quantile(0.99));
  }

  @Test
  void shouldRefuseWhenNothingWasMeasured() {
    Sample nothing = new Sample();
    assertThrows(IllegalStateException.class, nothing::median);
    assertThrows(IllegalStateException.class, () -> nothing.quantile(0.5));
  }

  @Test
  void shouldTakeRoundsTogetherWhenTwoWereMeasuredInTurn() {
    Sample ratios = of(2, 6, 12).over(of(1, 2, 3));
    assertEquals(3, ratios.count());
    assertEquals(2, ratios.value(0));
    assertEquals(4, ratios.value(2));
    assertEquals(2, of(2, 6, 12).over(of(1, 2)).count());
    assertEquals(60, of(2, 6, 12).map(value -> 10 * value).median());
  }

  @Test
  void shouldBeAsUncertainAsEitherWhenTwoAreDivided() {
    Sample steady = of(10, 10, 10, 10, 10);
    Sample moving = of(1, 2, 2, 4, 5);
    assertEquals(new Sample.Interval(1, 1), steady.intervalOver(steady));
    Sample.Interval divided = steady.intervalOver(moving);
    assertEquals(new Sample.Interval(2, 10), divided);
    assertEquals(new Sample.Interval(2, 10), steady.intervalOver(moving, 0.5));
    assertEquals(divided, steady.intervalOver(moving));
    Sample.Interval tail = moving.intervalOver(steady, 0.99);
    assertEquals(0.5, tail.high());
    assertTrue(tail.low() <= 0.4 && tail.low() >= 0.2, tail.toString());
  }

  @Test
  void shouldEncloseTheQuantileWhenItsIntervalIsAsked() {
    Sample sample = new Sample();
    for (int i = 1; i <= 1000; i++) {
      sample.add(i);
    }
    Sample.Interval tail = sample.interval(0.99);
    assertTrue(tail.low() > 970 && tail.low() <= 990, tail.toString());
    assertTrue(tail.high() >= 990 && tail.high() <= 1000, tail.toString());
  }
}
