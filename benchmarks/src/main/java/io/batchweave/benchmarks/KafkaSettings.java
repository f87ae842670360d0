package io.batchweave.benchmarks;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.ByteBufferDeserializer;

/** Settings of broker, topics and clients as somebody who knows Kafka would make them for this. */
public final class KafkaSettings {
  /** No record may be longer. */
  public static final int MAX_RECORD_BYTES = 200 << 20;

  /** What a record takes beside its value: header of its batch, lengths, the timestamp. */
  public static final int RECORD_OVERHEAD_BYTES = 4_096;

  private static final int MAX_REQUEST_BYTES = 210 << 20;
  private static final int MIB = 1 << 20;
  private static final long BUFFER_BYTES = 512L << 20;

  private KafkaSettings() {}

  /** When an append is on the disk. */
  public enum Flush {
    /** Before it is acknowledged. */
    EVERY_APPEND,
    /** When the system gets round to it: Kafka's default. */
    LATER
  }

  /** What a consumer does with the bytes of a value. */
  public enum Values {
    /** Each is copied into an array of its own: the usual deserializer. */
    ARRAYS,
    /** Each is a view of what was received. */
    VIEWS
  }

  /** Whether the consumer looks at the checksum of each batch. */
  public enum Checks {
    /** Kafka's default. */
    CRC,
    /** As those do who count cycles. */
    NONE
  }

  /**
   * A broker that is its own controller.
   *
   * @param directory for its log
   * @param port where clients connect
   * @param controllerPort another one
   */
  static Properties broker(Path directory, int port, int controllerPort) {
    Properties properties = new Properties();
    properties.setProperty("process.roles", "broker,controller");
    properties.setProperty("node.id", "1");
    properties.setProperty("controller.quorum.voters", "1@127.0.0.1:" + controllerPort);
    properties.setProperty(
        "listeners", "PLAINTEXT://127.0.0.1:" + port + ",CONTROLLER://127.0.0.1:" + controllerPort);
    properties.setProperty("advertised.listeners", "PLAINTEXT://127.0.0.1:" + port);
    properties.setProperty(
        "listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT");
    properties.setProperty("inter.broker.listener.name", "PLAINTEXT");
    properties.setProperty("controller.listener.names", "CONTROLLER");
    properties.setProperty("log.dirs", directory.toString());
    properties.setProperty("default.replication.factor", "1");
    properties.setProperty("offsets.topic.replication.factor", "1");
    properties.setProperty("offsets.topic.num.partitions", "1");
    properties.setProperty("transaction.state.log.replication.factor", "1");
    properties.setProperty("transaction.state.log.min.isr", "1");
    properties.setProperty("transaction.state.log.num.partitions", "1");
    properties.setProperty("share.coordinator.state.topic.replication.factor", "1");
    properties.setProperty("share.coordinator.state.topic.min.isr", "1");
    properties.setProperty("group.initial.rebalance.delay.ms", "0");
    properties.setProperty("auto.create.topics.enable", "false");
    String longest = Integer.toString(MAX_RECORD_BYTES);
    properties.setProperty("message.max.bytes", longest);
    properties.setProperty("replica.fetch.max.bytes", longest);
    properties.setProperty("replica.fetch.response.max.bytes", longest);
    properties.setProperty("fetch.max.bytes", longest);
    properties.setProperty("socket.request.max.bytes", Integer.toString(MAX_REQUEST_BYTES));
    properties.setProperty("socket.send.buffer.bytes", Integer.toString(MIB));
    properties.setProperty("socket.receive.buffer.bytes", Integer.toString(MIB));
    properties.setProperty("log.segment.bytes", Integer.toString(1 << 30));
    // What was deleted is gone soon. With no delay at all a thread of the broker would spin.
    properties.setProperty("log.segment.delete.delay.ms", "100");
    properties.setProperty("log.initial.task.delay.ms", "100");
    return properties;
  }

  /** Settings of a topic. */
  static Map<String, String> topic(Flush flush) {
    return flush == Flush.EVERY_APPEND ? Map.of("flush.messages", "1") : Map.of();
  }

  private static void requireRecord(int recordBytes) {
    if (recordBytes < 1 || recordBytes > MAX_RECORD_BYTES - RECORD_OVERHEAD_BYTES) {
      throw new IllegalArgumentException(
          "no record for this broker: recordBytes="
              + recordBytes
              + " limit="
              + (MAX_RECORD_BYTES - RECORD_OVERHEAD_BYTES));
    }
  }

  /**
   * A producer of records of one size, many at a time.
   *
   * @param bootstrap the broker
   * @param recordBytes length of a value
   */
  static Map<String, Object> producer(String bootstrap, int recordBytes) {
    requireRecord(recordBytes);
    Map<String, Object> settings = new LinkedHashMap<>();
    settings.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
    settings.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class);
    settings.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class);
    settings.put(ProducerConfig.ACKS_CONFIG, "all");
    settings.put(ProducerConfig.LINGER_MS_CONFIG, 5);
    settings.put(
        ProducerConfig.BATCH_SIZE_CONFIG, Math.max(MIB, recordBytes + RECORD_OVERHEAD_BYTES));
    settings.put(ProducerConfig.BUFFER_MEMORY_CONFIG, BUFFER_BYTES);
    settings.put(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, MAX_RECORD_BYTES);
    // With the default a long record is copied over and over while it is sent.
    settings.put(ProducerConfig.SEND_BUFFER_CONFIG, 4 * MIB);
    return settings;
  }

  /**
   * A consumer of records of one size that is told which partitions to read.
   *
   * @param bootstrap the broker
   * @param recordBytes length of a value
   * @param recordsPerFetch how many at most come by one request; exactly those, else parts of
   *     batches are sent and thrown away
   */
  public static Map<String, Object> consumer(
      String bootstrap, int recordBytes, int recordsPerFetch, Values values, Checks checks) {
    requireRecord(recordBytes);
    long fetchBytes = (long) recordsPerFetch * (recordBytes + RECORD_OVERHEAD_BYTES);
    if (recordsPerFetch < 1 || fetchBytes > MAX_RECORD_BYTES) {
      throw new IllegalArgumentException(
          "not one request: recordBytes=" + recordBytes + " recordsPerFetch=" + recordsPerFetch);
    }
    Map<String, Object> settings = new LinkedHashMap<>();
    settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
    settings.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
    settings.put(
        ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG,
        values == Values.ARRAYS ? ByteArrayDeserializer.class : ByteBufferDeserializer.class);
    settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    settings.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, 1);
    settings.put(ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG, (int) fetchBytes);
    settings.put(ConsumerConfig.FETCH_MAX_BYTES_CONFIG, MAX_RECORD_BYTES);
    settings.put(ConsumerConfig.RECEIVE_BUFFER_CONFIG, 4 * MIB);
    // What asks at the end of a partition is answered soon, and so is in nobody's way.
    settings.put(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG, 1);
    settings.put(ConsumerConfig.CHECK_CRCS_CONFIG, checks == Checks.CRC);
    return settings;
  }
}
