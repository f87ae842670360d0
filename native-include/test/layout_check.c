/*
 * Prints every offset, length and constant of the shared-memory ABI, one "name value" a line. The
 * Java test compares the table with its own literals.
 */
#include <inttypes.h>
#include <stdio.h>

#include "../batchweave_abi.h"

#define OFFSET(type, field) print(#type "." #field, offsetof(type, field))
#define LENGTH(type) print(#type, sizeof(type))
#define CONSTANT(name) print(#name, name)

static void print(const char *name, uint64_t value) { printf("%s %" PRIu64 "\n", name, value); }

int main(void) {
  LENGTH(bw_control);
  LENGTH(bw_descriptor);
  LENGTH(bw_coordinate);
  LENGTH(bw_reader);
  LENGTH(bw_doorbell);
  LENGTH(bw_table);
  LENGTH(bw_table_entry);
  OFFSET(bw_control, magic);
  OFFSET(bw_control, abi_version);
  OFFSET(bw_control, page_size);
  OFFSET(bw_control, file_length);
  OFFSET(bw_control, ring_length);
  OFFSET(bw_control, ring_inode);
  OFFSET(bw_control, generation);
  OFFSET(bw_control, generation_id);
  OFFSET(bw_control, first_step);
  OFFSET(bw_control, ring_number);
  OFFSET(bw_control, descriptor_count);
  OFFSET(bw_control, hold);
  OFFSET(bw_control, local_readers);
  OFFSET(bw_control, stream_id);
  OFFSET(bw_control, session_version);
  OFFSET(bw_control, dp_size);
  OFFSET(bw_control, cp_size);
  OFFSET(bw_control, coordinate_count);
  OFFSET(bw_control, group);
  OFFSET(bw_control, session);
  OFFSET(bw_control, state);
  OFFSET(bw_control, wake);
  OFFSET(bw_control, status_seq);
  OFFSET(bw_control, trouble_length);
  OFFSET(bw_control, blocked_bytes);
  OFFSET(bw_control, blocked_step);
  OFFSET(bw_control, blocked_reader);
  OFFSET(bw_control, blocked_reader_steps);
  OFFSET(bw_control, published_count);
  OFFSET(bw_control, allocated_count);
  OFFSET(bw_control, used_bytes);
  OFFSET(bw_control, unfinished_fetches);
  OFFSET(bw_control, failure_length);
  OFFSET(bw_control, trouble_text);
  OFFSET(bw_control, failure_text);
  OFFSET(bw_descriptor, seq);
  OFFSET(bw_descriptor, step);
  OFFSET(bw_descriptor, next_step);
  OFFSET(bw_descriptor, offset);
  OFFSET(bw_descriptor, length);
  OFFSET(bw_descriptor, kind);
  OFFSET(bw_descriptor, reason);
  OFFSET(bw_coordinate, dp);
  OFFSET(bw_coordinate, cp);
  OFFSET(bw_reader, magic);
  OFFSET(bw_reader, abi_version);
  OFFSET(bw_reader, pid);
  OFFSET(bw_reader, file_length);
  OFFSET(bw_reader, reader_id);
  OFFSET(bw_reader, previous_id);
  OFFSET(bw_reader, dp);
  OFFSET(bw_reader, cp);
  OFFSET(bw_reader, dp_size);
  OFFSET(bw_reader, cp_size);
  OFFSET(bw_reader, local_readers);
  OFFSET(bw_reader, ack_capacity);
  OFFSET(bw_reader, rank);
  OFFSET(bw_reader, attached);
  OFFSET(bw_reader, ring_number);
  OFFSET(bw_reader, generation);
  OFFSET(bw_reader, generation_id);
  OFFSET(bw_reader, first_n);
  OFFSET(bw_reader, taken);
  OFFSET(bw_reader, waiting);
  OFFSET(bw_reader, pulse);
  OFFSET(bw_reader, ack);
  OFFSET(bw_doorbell, magic);
  OFFSET(bw_doorbell, abi_version);
  OFFSET(bw_doorbell, word);
  OFFSET(bw_table, magic);
  OFFSET(bw_table, step);
  OFFSET(bw_table, entry_count);
  OFFSET(bw_table, table_length);
  OFFSET(bw_table, region_length);
  OFFSET(bw_table_entry, dp);
  OFFSET(bw_table_entry, cp);
  OFFSET(bw_table_entry, offset);
  OFFSET(bw_table_entry, length);
  OFFSET(bw_table_entry, crc32c);
  OFFSET(bw_table_entry, micro_batches);
  OFFSET(bw_table_entry, samples);
  OFFSET(bw_table_entry, tokens);
  CONSTANT(BW_ABI_VERSION);
  CONSTANT(BW_MIN_DESCRIPTORS);
  CONSTANT(BW_MAX_DESCRIPTORS);
  CONSTANT(BW_MAX_COORDINATES);
  CONSTANT(BW_MAX_HOLD);
  CONSTANT(BW_NAME_CHARS);
  CONSTANT(BW_TEXT_BYTES);
  CONSTANT(BW_SLICE_ALIGNMENT);
  CONSTANT(BW_STATE_NEW);
  CONSTANT(BW_STATE_OPEN);
  CONSTANT(BW_STATE_CLOSED);
  CONSTANT(BW_KIND_READY);
  CONSTANT(BW_KIND_FAILED);
  CONSTANT(BW_KIND_END);
  CONSTANT(BW_DESCRIPTORS_OFFSET);
  CONSTANT(BW_DESCRIPTOR_LENGTH);
  CONSTANT(BW_COORDINATE_LENGTH);
  CONSTANT(BW_READER_LENGTH);
  CONSTANT(BW_DOORBELL_LENGTH);
  CONSTANT(BW_TABLE_LENGTH);
  CONSTANT(BW_TABLE_ENTRY_LENGTH);
  CONSTANT(BW_CONTROL_MAGIC);
  CONSTANT(BW_READER_MAGIC);
  CONSTANT(BW_TABLE_MAGIC);
  CONSTANT(BW_DOORBELL_MAGIC);
  CONSTANT(BW_CLOSED_DAEMON_RESTART);
  CONSTANT(BW_CLOSED_COORDINATE);
  CONSTANT(BW_CLOSED_OLDER_STEP);
  CONSTANT(BW_CLOSED_NEW_SESSION);
  CONSTANT(BW_CLOSED_RETRY);
  CONSTANT(BW_CLOSED_SHUTDOWN);
  CONSTANT(BW_CLOSED_SESSION_END);
  CONSTANT(BW_FAILED_CORRUPT);
  CONSTANT(BW_FAILED_RECLAIMED);
  CONSTANT(BW_FAILED_LIMIT);
  CONSTANT(BW_FAILED_MISSING);
  CONSTANT(BW_FAILED_CONFIG);
  CONSTANT(BW_FAILED_TOO_NEW);
  CONSTANT(BW_FAILED_FENCED);
  print("BW_SEQ_ALLOCATED(5)", BW_SEQ_ALLOCATED(5));
  print("BW_SEQ_PUBLISHED(5)", BW_SEQ_PUBLISHED(5));
  print("BW_ACK_RELEASED(5)", BW_ACK_RELEASED(5));
  print("BW_STATE_WORD(2,3)", BW_STATE_WORD(2, 3));
  return 0;
}
