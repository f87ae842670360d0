package io.batchweave.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.benchmarks.KafkaSettings.Checks;
import io.batchweave.benchmarks.KafkaSettings.Flush;
import io.batchweave.benchmarks.KafkaSettings.Values;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.junit.jupiter.api.Test;

class KafkaSettingsTest {
  private static final int RECORD_BYTES = 64 << 20;

  private static Map<String, Object> consumer(int recordBytes, int recordsPerFetch) {
    return KafkaSettings.consumer(
        "127.0.0.1:1", recordBytes, recordsPerFetch, Values.VIEWS, Checks.NONE);
  }

  private static int number(Map<String, Object> settings, String name) {
    return ((Number) settings.getOrDefault(name, -1)).intValue();
  }

  @Test
  void shouldKnowItsOwnSettingsWhenClientsAreMade() {
    assertTrue(
        ProducerConfig.configNames()
            .containsAll(KafkaSettings.producer("127.0.0.1:1", RECORD_BYTES).keySet()));
    assertTrue(ConsumerConfig.configNames().containsAll(consumer(RECORD_BYTES, 1).keySet()));
  }

  @Test
  void shouldMakeRoomForTheRecordWhenItIsLong() {
    Map<String, Object> producer = KafkaSettings.producer("127.0.0.1:1", RECORD_BYTES);
    assertTrue(number(producer, "batch.size") > RECORD_BYTES, producer::toString);
    assertTrue(number(producer, "max.request.size") > RECORD_BYTES, producer::toString);
    assertTrue(number(producer, "buffer.memory") > number(producer, "batch.size"));
    assertEquals("all", producer.get("acks"));
    assertEquals(1 << 20, number(KafkaSettings.producer("127.0.0.1:1", 1), "batch.size"));
  }

  @Test
  void shouldAskForWholeRecordsWhenSeveralComeByOneRequest() {
    int bytes = number(consumer(1 << 20, 16), "max.partition.fetch.bytes");
    assertTrue(bytes >= 16 * (1 << 20), () -> "bytes=" + bytes);
    assertTrue(bytes < 17 * (1 << 20), () -> "bytes=" + bytes);
  }

  @Test
  void shouldRefuseWhatTheBrokerWouldRefuse() {
    assertThrows(
        IllegalArgumentException.class,
        () -> KafkaSettings.producer("127.0.0.1:1", KafkaSettings.MAX_RECORD_BYTES));
    assertThrows(IllegalArgumentException.class, () -> KafkaSettings.producer("127.0.0.1:1", 0));
    assertThrows(IllegalArgumentException.class, () -> consumer(RECORD_BYTES, 4));
    assertThrows(IllegalArgumentException.class, () -> consumer(RECORD_BYTES, 0));
  }

  @Test
  void shouldServeOneMachineWhenTheBrokerIsAlone() {
    Properties broker = KafkaSettings.broker(Path.of("/somewhere"), 1001, 1002);
    assertEquals("1@127.0.0.1:1002", broker.getProperty("controller.quorum.voters"));
    assertEquals("PLAINTEXT://127.0.0.1:1001", broker.getProperty("advertised.listeners"));
    assertEquals("/somewhere", broker.getProperty("log.dirs"));
    for (String name : broker.stringPropertyNames()) {
      if (name.endsWith("replication.factor") || name.endsWith("min.isr")) {
        assertEquals("1", broker.getProperty(name), name);
      }
    }
    int longest = Integer.parseInt(broker.getProperty("message.max.bytes"));
    assertTrue(Integer.parseInt(broker.getProperty("socket.request.max.bytes")) > longest);
    assertTrue(Integer.parseInt(broker.getProperty("log.segment.bytes")) > longest);
  }

  @Test
  void shouldFlushEveryAppendOnlyWhenAsked() {
    assertEquals(Map.of("flush.messages", "1"), KafkaSettings.topic(Flush.EVERY_APPEND));
    assertEquals(Map.of(), KafkaSettings.topic(Flush.LATER));
  }
}
