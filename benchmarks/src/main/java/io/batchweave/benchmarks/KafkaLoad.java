package io.batchweave.benchmarks;

import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.jspecify.annotations.Nullable;

/** A record of random bytes and the producer that sends it, many times. */
public final class KafkaLoad implements AutoCloseable {
  private final byte[] record;
  private final KafkaProducer<byte[], byte[]> producer;
  private final AtomicReference<@Nullable Exception> failure = new AtomicReference<>();

  private KafkaLoad(int recordBytes, Map<String, Object> settings) {
    record = new byte[recordBytes];
    new SplittableRandom(1).nextBytes(record);
    producer = new KafkaProducer<>(settings);
  }

  /**
   * Opens a producer.
   *
   * @param broker whom to send to
   * @param recordBytes length of the record
   */
  public static KafkaLoad open(KafkaBroker broker, int recordBytes) {
    return new KafkaLoad(recordBytes, KafkaSettings.producer(broker.bootstrap(), recordBytes));
  }

  /**
   * Opens a producer that sends in transactions.
   *
   * @param broker whom to send to
   * @param recordBytes length of the record
   */
  public static KafkaLoad openTransactional(KafkaBroker broker, int recordBytes) {
    Map<String, Object> settings =
        new HashMap<>(KafkaSettings.producer(broker.bootstrap(), recordBytes));
    settings.put(ProducerConfig.TRANSACTIONAL_ID_CONFIG, "producer-" + recordBytes);
    KafkaLoad load = new KafkaLoad(recordBytes, settings);
    load.producer.initTransactions();
    return load;
  }

  private void send(String topic, int partition) {
    var _ =
        producer.send(
            new ProducerRecord<>(topic, partition, null, record),
            (metadata, thrown) -> {
              if (thrown != null) {
                failure.compareAndSet(null, thrown);
              }
            });
  }

  private void requireTaken(String topic) {
    Exception thrown = failure.get();
    if (thrown != null) {
      throw new IllegalStateException("Kafka did not take a record: topic=" + topic, thrown);
    }
  }

  /**
   * Sends the record so many times, as many at once as fit, and waits until all are acknowledged.
   *
   * @param topic an existing one
   * @param partitions the records go round these, from 0 on
   * @param records how often
   * @return seconds from the first send to the last acknowledgement
   */
  public double produce(String topic, int partitions, int records) {
    // So that the first record does not wait for the address of the partition.
    var _ = producer.partitionsFor(topic);
    long beganNs = System.nanoTime();
    for (int i = 0; i < records; i++) {
      send(topic, i % partitions);
    }
    producer.flush();
    double seconds = (System.nanoTime() - beganNs) / 1e9;
    requireTaken(topic);
    return seconds;
  }

  /**
   * Sends the record once to each of some partitions and commits: all of them are visible, or none.
   *
   * @param topic an existing one
   * @param from the first partition
   * @param to behind the last one
   */
  public void produceTogether(String topic, int from, int to) {
    producer.beginTransaction();
    for (int partition = from; partition < to; partition++) {
      send(topic, partition);
    }
    producer.commitTransaction();
    requireTaken(topic);
  }

  @Override
  public void close() {
    producer.close();
  }
}
