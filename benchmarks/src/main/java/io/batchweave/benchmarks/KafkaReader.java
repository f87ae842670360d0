package io.batchweave.benchmarks;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.TopicPartition;

/** A consumer that reads the records which a {@link KafkaLoad} has sent, one by one. */
public final class KafkaReader implements AutoCloseable {
  private static final Duration SHORT = Duration.ofMillis(3);
  private static final Duration LONG = Duration.ofSeconds(60);

  private final KafkaConsumer<byte[], Object> consumer;
  private final int recordBytes;

  /**
   * Opens a consumer.
   *
   * @param settings of {@link KafkaSettings#consumer}
   * @param recordBytes length of each record
   */
  public KafkaReader(Map<String, Object> settings, int recordBytes) {
    this.consumer = new KafkaConsumer<>(settings);
    this.recordBytes = recordBytes;
  }

  /**
   * Goes to the first record of some partitions; nothing is asked for yet.
   *
   * @param topic which
   * @param from the first partition
   * @param to behind the last one
   */
  public void begin(String topic, int from, int to) {
    List<TopicPartition> partitions =
        IntStream.range(from, to).mapToObj(i -> new TopicPartition(topic, i)).toList();
    consumer.assign(partitions);
    partitions.forEach(partition -> consumer.seek(partition, 0));
    consumer.resume(partitions);
  }

  /** Waits for the next record: asks for it, unless it came with one before. */
  public void next() {
    long deadlineNs = System.nanoTime() + LONG.toNanos();
    ConsumerRecords<byte[], Object> records = consumer.poll(LONG);
    // A poll that only passes the end of a transaction returns nothing.
    while (records.isEmpty() && System.nanoTime() - deadlineNs < 0) {
      records = consumer.poll(LONG);
    }
    if (records.count() != 1) {
      throw new IllegalStateException("not one record from Kafka: count=" + records.count());
    }
    int lengthBytes = records.iterator().next().serializedValueSize();
    if (lengthBytes != recordBytes) {
      throw new IllegalStateException(
          "another record: lengthBytes=" + lengthBytes + " expected=" + recordBytes);
    }
  }

  /** Takes what is still on its way and asks for nothing more. */
  public void rest() {
    consumer.pause(consumer.assignment());
    if (!consumer.poll(SHORT).isEmpty()) {
      throw new IllegalStateException("a paused consumer got a record");
    }
  }

  /** Bytes that came from the broker so far, protocol included, by the consumer's own account. */
  public long receivedBytes() {
    for (Map.Entry<MetricName, ? extends Metric> metric : consumer.metrics().entrySet()) {
      if (metric.getKey().name().equals("incoming-byte-total")
          && metric.getKey().group().equals("consumer-metrics")
          && metric.getValue().metricValue() instanceof Double bytes) {
        return bytes.longValue();
      }
    }
    throw new IllegalStateException("the consumer does not say what it received");
  }

  @Override
  public void close() {
    consumer.close();
  }
}
