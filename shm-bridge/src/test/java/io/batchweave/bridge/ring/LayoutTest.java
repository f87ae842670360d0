package io.batchweave.bridge.ring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.batchweave.bridge.NativeProgram;
import io.batchweave.bridge.NativeProgram.Build;
import io.batchweave.bridge.NativeProgram.Outcome;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Pins every offset of the shared structures by literals, and compares them with C. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class LayoutTest {
  private static void pin(Map<String, Long> table, String name, long literal, long actual) {
    assertEquals(literal, actual, name);
    assertEquals(null, table.put(name, literal), name);
  }

  private static Map<String, Long> table() {
    Map<String, Long> table = new TreeMap<>();
    control(table);
    descriptor(table);
    reader(table);
    doorbellAndTable(table);
    lengths(table);
    constants(table);
    return table;
  }

  private static void control(Map<String, Long> table) {
    pin(table, "bw_control.magic", 0, ControlDescriptor.MAGIC_OFFSET);
    pin(table, "bw_control.abi_version", 8, ControlDescriptor.ABI_VERSION_OFFSET);
    pin(table, "bw_control.page_size", 12, ControlDescriptor.PAGE_SIZE_OFFSET);
    pin(table, "bw_control.file_length", 16, ControlDescriptor.FILE_LENGTH_OFFSET);
    pin(table, "bw_control.ring_length", 24, ControlDescriptor.RING_LENGTH_OFFSET);
    pin(table, "bw_control.ring_inode", 32, ControlDescriptor.RING_INODE_OFFSET);
    pin(table, "bw_control.generation", 40, ControlDescriptor.GENERATION_OFFSET);
    pin(table, "bw_control.generation_id", 48, ControlDescriptor.GENERATION_ID_OFFSET);
    pin(table, "bw_control.first_step", 64, ControlDescriptor.FIRST_STEP_OFFSET);
    pin(table, "bw_control.ring_number", 72, ControlDescriptor.RING_NUMBER_OFFSET);
    pin(table, "bw_control.descriptor_count", 76, ControlDescriptor.DESCRIPTOR_COUNT_OFFSET);
    pin(table, "bw_control.hold", 80, ControlDescriptor.HOLD_OFFSET);
    pin(table, "bw_control.local_readers", 84, ControlDescriptor.LOCAL_READERS_OFFSET);
    pin(table, "bw_control.stream_id", 88, ControlDescriptor.STREAM_ID_OFFSET);
    pin(table, "bw_control.session_version", 104, ControlDescriptor.SESSION_VERSION_OFFSET);
    pin(table, "bw_control.dp_size", 112, ControlDescriptor.DP_SIZE_OFFSET);
    pin(table, "bw_control.cp_size", 116, ControlDescriptor.CP_SIZE_OFFSET);
    pin(table, "bw_control.coordinate_count", 120, ControlDescriptor.COORDINATE_COUNT_OFFSET);
    pin(table, "bw_control.group", 128, ControlDescriptor.GROUP_OFFSET);
    pin(table, "bw_control.session", 192, ControlDescriptor.SESSION_OFFSET);
    pin(table, "bw_control.state", 256, ControlDescriptor.STATE_OFFSET);
    pin(table, "bw_control.wake", 384, ControlDescriptor.WAKE_OFFSET);
    pin(table, "bw_control.status_seq", 512, ControlDescriptor.STATUS_SEQ_OFFSET);
    pin(table, "bw_control.trouble_length", 516, ControlDescriptor.TROUBLE_LENGTH_OFFSET);
    pin(table, "bw_control.blocked_bytes", 520, ControlDescriptor.BLOCKED_BYTES_OFFSET);
    pin(table, "bw_control.blocked_step", 528, ControlDescriptor.BLOCKED_STEP_OFFSET);
    pin(table, "bw_control.blocked_reader", 536, ControlDescriptor.BLOCKED_READER_OFFSET);
    pin(
        table,
        "bw_control.blocked_reader_steps",
        552,
        ControlDescriptor.BLOCKED_READER_STEPS_OFFSET);
    pin(table, "bw_control.published_count", 560, ControlDescriptor.PUBLISHED_COUNT_OFFSET);
    pin(table, "bw_control.allocated_count", 568, ControlDescriptor.ALLOCATED_COUNT_OFFSET);
    pin(table, "bw_control.used_bytes", 576, ControlDescriptor.USED_BYTES_OFFSET);
    pin(table, "bw_control.unfinished_fetches", 584, ControlDescriptor.UNFINISHED_FETCHES_OFFSET);
    pin(table, "bw_control.failure_length", 588, ControlDescriptor.FAILURE_LENGTH_OFFSET);
    pin(table, "bw_control.trouble_text", 640, ControlDescriptor.TROUBLE_TEXT_OFFSET);
    pin(table, "bw_control.failure_text", 1664, ControlDescriptor.FAILURE_TEXT_OFFSET);
  }

  private static void descriptor(Map<String, Long> table) {
    pin(table, "bw_descriptor.seq", 0, ControlDescriptor.SEQ_OFFSET);
    pin(table, "bw_descriptor.step", 8, ControlDescriptor.STEP_OFFSET);
    pin(table, "bw_descriptor.next_step", 16, ControlDescriptor.NEXT_STEP_OFFSET);
    pin(table, "bw_descriptor.offset", 24, ControlDescriptor.REGION_OFFSET_OFFSET);
    pin(table, "bw_descriptor.length", 32, ControlDescriptor.REGION_LENGTH_OFFSET);
    pin(table, "bw_descriptor.kind", 40, ControlDescriptor.KIND_OFFSET);
    pin(table, "bw_descriptor.reason", 44, ControlDescriptor.REASON_OFFSET);
    pin(table, "bw_coordinate.dp", 0, ControlDescriptor.COORDINATE_DP_OFFSET);
    pin(table, "bw_coordinate.cp", 4, ControlDescriptor.COORDINATE_CP_OFFSET);
  }

  private static void reader(Map<String, Long> table) {
    pin(table, "bw_reader.magic", 0, ReaderDescriptor.MAGIC_OFFSET);
    pin(table, "bw_reader.abi_version", 8, ReaderDescriptor.ABI_VERSION_OFFSET);
    pin(table, "bw_reader.pid", 12, ReaderDescriptor.PID_OFFSET);
    pin(table, "bw_reader.file_length", 16, ReaderDescriptor.FILE_LENGTH_OFFSET);
    pin(table, "bw_reader.reader_id", 24, ReaderDescriptor.READER_ID_OFFSET);
    pin(table, "bw_reader.previous_id", 40, ReaderDescriptor.PREVIOUS_ID_OFFSET);
    pin(table, "bw_reader.dp", 56, ReaderDescriptor.DP_OFFSET);
    pin(table, "bw_reader.cp", 60, ReaderDescriptor.CP_OFFSET);
    pin(table, "bw_reader.dp_size", 64, ReaderDescriptor.DP_SIZE_OFFSET);
    pin(table, "bw_reader.cp_size", 68, ReaderDescriptor.CP_SIZE_OFFSET);
    pin(table, "bw_reader.local_readers", 72, ReaderDescriptor.LOCAL_READERS_OFFSET);
    pin(table, "bw_reader.ack_capacity", 76, ReaderDescriptor.ACK_CAPACITY_OFFSET);
    pin(table, "bw_reader.rank", 80, ReaderDescriptor.RANK_OFFSET);
    pin(table, "bw_reader.attached", 128, ReaderDescriptor.ATTACHED_OFFSET);
    pin(table, "bw_reader.ring_number", 132, ReaderDescriptor.RING_NUMBER_OFFSET);
    pin(table, "bw_reader.generation", 136, ReaderDescriptor.GENERATION_OFFSET);
    pin(table, "bw_reader.generation_id", 144, ReaderDescriptor.GENERATION_ID_OFFSET);
    pin(table, "bw_reader.first_n", 160, ReaderDescriptor.FIRST_N_OFFSET);
    pin(table, "bw_reader.taken", 256, ReaderDescriptor.TAKEN_OFFSET);
    pin(table, "bw_reader.waiting", 384, ReaderDescriptor.WAITING_OFFSET);
    pin(table, "bw_reader.pulse", 392, ReaderDescriptor.PULSE_OFFSET);
    pin(table, "bw_reader.ack", 512, ReaderDescriptor.ACK_OFFSET);
  }

  private static void doorbellAndTable(Map<String, Long> table) {
    pin(table, "bw_doorbell.magic", 0, DoorbellDescriptor.MAGIC_OFFSET);
    pin(table, "bw_doorbell.abi_version", 8, DoorbellDescriptor.ABI_VERSION_OFFSET);
    pin(table, "bw_doorbell.word", 128, DoorbellDescriptor.WORD_OFFSET);
    pin(table, "bw_table.magic", 0, TableDescriptor.MAGIC_OFFSET);
    pin(table, "bw_table.step", 8, TableDescriptor.STEP_OFFSET);
    pin(table, "bw_table.entry_count", 16, TableDescriptor.ENTRY_COUNT_OFFSET);
    pin(table, "bw_table.table_length", 20, TableDescriptor.TABLE_LENGTH_OFFSET);
    pin(table, "bw_table.region_length", 24, TableDescriptor.REGION_LENGTH_OFFSET);
    pin(table, "bw_table_entry.dp", 0, TableDescriptor.DP_OFFSET);
    pin(table, "bw_table_entry.cp", 4, TableDescriptor.CP_OFFSET);
    pin(table, "bw_table_entry.offset", 8, TableDescriptor.SLICE_OFFSET_OFFSET);
    pin(table, "bw_table_entry.length", 16, TableDescriptor.SLICE_LENGTH_OFFSET);
    pin(table, "bw_table_entry.crc32c", 24, TableDescriptor.CRC32C_OFFSET);
    pin(table, "bw_table_entry.micro_batches", 28, TableDescriptor.MICRO_BATCHES_OFFSET);
    pin(table, "bw_table_entry.samples", 32, TableDescriptor.SAMPLES_OFFSET);
    pin(table, "bw_table_entry.tokens", 40, TableDescriptor.TOKENS_OFFSET);
  }

  private static void lengths(Map<String, Long> table) {
    pin(table, "bw_control", 4096, ControlDescriptor.DESCRIPTORS_OFFSET);
    pin(table, "bw_descriptor", 128, ControlDescriptor.DESCRIPTOR_LENGTH);
    pin(table, "bw_coordinate", 8, ControlDescriptor.COORDINATE_LENGTH);
    pin(table, "bw_reader", 8704, ReaderDescriptor.LENGTH);
    pin(table, "bw_doorbell", 256, DoorbellDescriptor.LENGTH);
    pin(table, "bw_table", 64, TableDescriptor.ENTRIES_OFFSET);
    pin(table, "bw_table_entry", 64, TableDescriptor.ENTRY_LENGTH);
    pin(table, "BW_DESCRIPTORS_OFFSET", 4096, ControlDescriptor.DESCRIPTORS_OFFSET);
    pin(table, "BW_DESCRIPTOR_LENGTH", 128, ControlDescriptor.DESCRIPTOR_LENGTH);
    pin(table, "BW_COORDINATE_LENGTH", 8, ControlDescriptor.COORDINATE_LENGTH);
    pin(table, "BW_READER_LENGTH", 8704, ReaderDescriptor.LENGTH);
    pin(table, "BW_DOORBELL_LENGTH", 256, DoorbellDescriptor.LENGTH);
    pin(table, "BW_TABLE_LENGTH", 64, TableDescriptor.ENTRIES_OFFSET);
    pin(table, "BW_TABLE_ENTRY_LENGTH", 64, TableDescriptor.ENTRY_LENGTH);
  }

  private static void constants(Map<String, Long> table) {
    pin(table, "BW_ABI_VERSION", 1, RingAbi.VERSION);
    pin(table, "BW_MIN_DESCRIPTORS", 4, RingAbi.MIN_DESCRIPTORS);
    pin(table, "BW_MAX_DESCRIPTORS", 1024, RingAbi.MAX_DESCRIPTORS);
    pin(table, "BW_MAX_COORDINATES", 65536, RingAbi.MAX_COORDINATES);
    pin(table, "BW_MAX_HOLD", 64, RingAbi.MAX_HOLD);
    pin(table, "BW_NAME_CHARS", 64, RingAbi.NAME_CHARS);
    pin(table, "BW_TEXT_BYTES", 1024, RingAbi.TEXT_BYTES);
    pin(table, "BW_SLICE_ALIGNMENT", 64, RingAbi.SLICE_ALIGNMENT);
    pin(table, "BW_STATE_NEW", 0, ControlDescriptor.STATE_NEW);
    pin(table, "BW_STATE_OPEN", 1, ControlDescriptor.STATE_OPEN);
    pin(table, "BW_STATE_CLOSED", 2, ControlDescriptor.STATE_CLOSED);
    pin(table, "BW_KIND_READY", 1, ControlDescriptor.KIND_READY);
    pin(table, "BW_KIND_FAILED", 2, ControlDescriptor.KIND_FAILED);
    pin(table, "BW_KIND_END", 3, ControlDescriptor.KIND_END);
    pin(table, "BW_CONTROL_MAGIC", 0x31304c5254435742L, RingAbi.CONTROL_MAGIC);
    pin(table, "BW_READER_MAGIC", 0x3152444145525742L, RingAbi.READER_MAGIC);
    pin(table, "BW_TABLE_MAGIC", 0x31454c4241545742L, RingAbi.TABLE_MAGIC);
    pin(table, "BW_DOORBELL_MAGIC", 0x3142524f4f445742L, RingAbi.DOORBELL_MAGIC);
    pin(table, "BW_CLOSED_DAEMON_RESTART", 1, CloseReason.DAEMON_RESTART.code());
    pin(table, "BW_CLOSED_COORDINATE", 2, CloseReason.COORDINATE.code());
    pin(table, "BW_CLOSED_OLDER_STEP", 3, CloseReason.OLDER_STEP.code());
    pin(table, "BW_CLOSED_NEW_SESSION", 4, CloseReason.NEW_SESSION.code());
    pin(table, "BW_CLOSED_RETRY", 5, CloseReason.RETRY.code());
    pin(table, "BW_CLOSED_SHUTDOWN", 6, CloseReason.SHUTDOWN.code());
    pin(table, "BW_CLOSED_SESSION_END", 7, CloseReason.SESSION_END.code());
    pin(table, "BW_FAILED_CORRUPT", 1, FailReason.CORRUPT.code());
    pin(table, "BW_FAILED_RECLAIMED", 2, FailReason.RECLAIMED.code());
    pin(table, "BW_FAILED_LIMIT", 3, FailReason.LIMIT.code());
    pin(table, "BW_FAILED_MISSING", 4, FailReason.MISSING.code());
    pin(table, "BW_FAILED_CONFIG", 5, FailReason.CONFIG.code());
    pin(table, "BW_FAILED_TOO_NEW", 6, FailReason.TOO_NEW.code());
    pin(table, "BW_FAILED_FENCED", 7, FailReason.FENCED.code());
    pin(table, "BW_SEQ_ALLOCATED(5)", 11, RingAbi.seqAllocated(5));
    pin(table, "BW_SEQ_PUBLISHED(5)", 12, RingAbi.seqPublished(5));
    pin(table, "BW_ACK_RELEASED(5)", 12, RingAbi.ackReleased(5));
    pin(table, "BW_STATE_WORD(2,3)", 770, ControlDescriptor.closedWord(CloseReason.OLDER_STEP));
  }

  @Test
  void shouldPinEveryOffsetByLiterals() {
    assertEquals(132, table().size());
  }

  @ParameterizedTest
  @EnumSource(names = {"C", "CPP"})
  void shouldAgreeWithCOnEveryOffset(Build build) {
    Outcome outcome =
        NativeProgram.run(
            List.of(NativeProgram.compile("test/layout_check.c", build).toString()), Map.of(), 60);
    assertEquals(0, outcome.status(), outcome.output());
    Map<String, Long> c = new HashMap<>();
    outcome
        .output()
        .lines()
        .forEach(line -> {
          int space = line.lastIndexOf(' ');
          c.put(line.substring(0, space), Long.parseUnsignedLong(line.substring(space + 1)));
        });
    assertNotNull(c.get("bw_control.magic"));
    assertEquals(table(), new TreeMap<>(c));
  }
}
