/*
 * The messages of batchweave-handshake.xml as literal offsets: encode Hello, decode Welcome and Refused.
 *
 * Written by hand instead of generated: sbe-tool's C for these three messages is 8,500 lines that put
 * helper names and macros into every trainer's namespace and read fixed fields without looking at the
 * block length a peer claims. A test compares every number here with the schema.
 *
 *   message = blockLength u16, templateId u16, schemaId u16, version u16, block, {length u16, bytes} …
 */
#ifndef BATCHWEAVE_HANDSHAKE_H
#define BATCHWEAVE_HANDSHAKE_H

#include "batchweave_base.h"

enum {
    BW_HELLO_STREAM_ID = 0x424D0001,
    BW_MESSAGE_CAPACITY = 1376,
    BW_SCHEMA_ID = 2,
    BW_SCHEMA_VERSION = 1,
    BW_MESSAGE_HEADER = 8,

    BW_HELLO_TEMPLATE = 1,
    BW_HELLO_BLOCK = 62,
    BW_HELLO_ATTEMPT = 0,
    BW_HELLO_NEXT_STEP = 8,
    BW_HELLO_WELCOME_STREAM_ID = 16,
    BW_HELLO_ABI = 20,
    BW_HELLO_DP = 24,
    BW_HELLO_DP_SIZE = 28,
    BW_HELLO_CP = 32,
    BW_HELLO_CP_SIZE = 36,
    BW_HELLO_LOCAL_READERS = 40,
    BW_HELLO_RANK = 44,
    BW_HELLO_PID = 48,
    BW_HELLO_TAKEOVER = 52,
    BW_HELLO_CLIENT = 53,
    BW_HELLO_VIEW_VERSION = 54,

    BW_WELCOME_TEMPLATE = 2,
    BW_WELCOME_BLOCK = 108,
    BW_WELCOME_ATTEMPT = 0,
    BW_WELCOME_GENERATION_HIGH = 8,
    BW_WELCOME_GENERATION_LOW = 16,
    BW_WELCOME_FIRST_STEP = 24,
    BW_WELCOME_FIRST_INDEX = 32,
    BW_WELCOME_CONTROL_SIZE_BYTES = 40,
    BW_WELCOME_DATA_SIZE_BYTES = 48,
    BW_WELCOME_STREAM_ID_HIGH = 56,
    BW_WELCOME_STREAM_ID_LOW = 64,
    BW_WELCOME_VIEW_VERSION = 72,
    BW_WELCOME_ABI = 80,
    BW_WELCOME_RING = 84,
    BW_WELCOME_SLOTS = 88,
    BW_WELCOME_PAGE_SIZE_BYTES = 92,
    BW_WELCOME_HOLD = 96,
    BW_WELCOME_GRID_DP = 100,
    BW_WELCOME_GRID_CP = 104,

    BW_REFUSED_TEMPLATE = 3,
    BW_REFUSED_BLOCK = 29,
    BW_REFUSED_ATTEMPT = 0,
    BW_REFUSED_STEP = 8,
    BW_REFUSED_BYTES = 16,
    BW_REFUSED_RETRY_AFTER_MILLIS = 24,
    BW_REFUSED_CODE = 28
};

/** Why the daemon refused; bw_error.refused_code of BW_ERROR_REFUSED. */
enum bw_refusal {
    BW_REFUSAL_NOT_YET = 0,
    BW_REFUSAL_MALFORMED = 1,
    BW_REFUSAL_ABI_MISMATCH = 2,
    BW_REFUSAL_UNKNOWN_STREAM = 3,
    BW_REFUSAL_GRID_MISMATCH = 4,
    BW_REFUSAL_SIZES_DISAGREE = 5,
    BW_REFUSAL_NO_RING = 6,
    BW_REFUSAL_RING_HELD = 7,
    BW_REFUSAL_LOCK_NOT_VISIBLE = 8,
    BW_REFUSAL_READER_FILE = 9,
    BW_REFUSAL_TOKEN_OF_OTHER_STREAM = 10,
    BW_REFUSAL_START_DISAGREES = 11,
    BW_REFUSAL_SUPERSEDED = 12,
    BW_REFUSAL_SESSION_LIVE = 13,
    BW_REFUSAL_RECLAIMED = 14,
    BW_REFUSAL_STREAM_FAILED = 15,
    BW_REFUSAL_CLOSING = 16
};

/** Name of a refusal, for messages. */
static inline const char *bw_refusal_name(int code) {
    static const char *const names[] = {"NOT_YET", "MALFORMED", "ABI_MISMATCH", "UNKNOWN_STREAM",
        "GRID_MISMATCH", "SIZES_DISAGREE", "NO_RING", "RING_HELD", "LOCK_NOT_VISIBLE", "READER_FILE",
        "TOKEN_OF_OTHER_STREAM", "START_DISAGREES", "SUPERSEDED", "SESSION_LIVE", "RECLAIMED",
        "STREAM_FAILED", "CLOSING"};
    return code >= 0 && code < (int)(sizeof names / sizeof names[0]) ? names[code] : "UNKNOWN";
}

/** Rank to daemon. Strings end with zero. */
typedef struct bw_hello {
    int64_t attempt;
    int64_t next_step;
    int32_t welcome_stream_id;
    int32_t abi;
    int32_t dp;
    int32_t dp_size;
    int32_t cp;
    int32_t cp_size;
    int32_t local_readers;
    int32_t rank;
    int32_t pid;
    uint8_t takeover;
    uint8_t client;
    int64_t view_version;
    const char *stream;
    const char *group;
    const char *session;
    const char *reader_file;
    const char *previous_reader_file;
    const uint8_t *token;
    size_t token_length;
} bw_hello;

/** Daemon to rank. */
typedef struct bw_welcome {
    int64_t attempt;
    uint64_t generation_id[2];
    int64_t first_step;
    int64_t first_index;
    int64_t control_size_bytes;
    int64_t data_size_bytes;
    uint64_t stream_id[2];
    int64_t view_version;
    int32_t abi;
    int32_t ring;
    int32_t slots;
    int32_t page_size_bytes;
    int32_t hold;
    int32_t grid_dp;
    int32_t grid_cp;
    char control_file[65];
    char data_file[65];
} bw_welcome;

/** Daemon to rank. */
typedef struct bw_refused {
    int64_t attempt;
    int64_t step;
    int64_t bytes;
    int32_t retry_after_millis;
    uint8_t code;
    char text[1025];
} bw_refused;

static inline void bw_message_u16(uint8_t *target, size_t value) {
    const uint16_t narrow = (uint16_t)value;
    memcpy(target, &narrow, sizeof narrow);
}

static inline size_t bw_message_get_u16(const uint8_t *source) {
    uint16_t value;
    memcpy(&value, source, sizeof value);
    return value;
}

/** Appends {length, bytes}; false when it exceeds its limit or the message. */
static inline bool bw_message_data(
        uint8_t *message, size_t *position, const void *bytes, size_t length, size_t limit) {
    if (length > limit || length + 2 > (size_t)BW_MESSAGE_CAPACITY - *position) {
        return false;
    }
    bw_message_u16(message + *position, length);
    if (length > 0) {
        memcpy(message + *position + 2, bytes, length);
    }
    *position += length + 2;
    return true;
}

/** Encodes into `message` of BW_MESSAGE_CAPACITY bytes; the length, or 0 when a field is too long. */
static inline size_t bw_hello_encode(const bw_hello *hello, uint8_t *message) {
    uint8_t *block = message + BW_MESSAGE_HEADER;
    bw_message_u16(message, BW_HELLO_BLOCK);
    bw_message_u16(message + 2, BW_HELLO_TEMPLATE);
    bw_message_u16(message + 4, BW_SCHEMA_ID);
    bw_message_u16(message + 6, BW_SCHEMA_VERSION);
    memcpy(block + BW_HELLO_ATTEMPT, &hello->attempt, 8);
    memcpy(block + BW_HELLO_NEXT_STEP, &hello->next_step, 8);
    memcpy(block + BW_HELLO_WELCOME_STREAM_ID, &hello->welcome_stream_id, 4);
    memcpy(block + BW_HELLO_ABI, &hello->abi, 4);
    memcpy(block + BW_HELLO_DP, &hello->dp, 4);
    memcpy(block + BW_HELLO_DP_SIZE, &hello->dp_size, 4);
    memcpy(block + BW_HELLO_CP, &hello->cp, 4);
    memcpy(block + BW_HELLO_CP_SIZE, &hello->cp_size, 4);
    memcpy(block + BW_HELLO_LOCAL_READERS, &hello->local_readers, 4);
    memcpy(block + BW_HELLO_RANK, &hello->rank, 4);
    memcpy(block + BW_HELLO_PID, &hello->pid, 4);
    block[BW_HELLO_TAKEOVER] = hello->takeover;
    block[BW_HELLO_CLIENT] = hello->client;
    memcpy(block + BW_HELLO_VIEW_VERSION, &hello->view_version, 8);
    size_t position = BW_MESSAGE_HEADER + BW_HELLO_BLOCK;
    const bool fits =
            bw_message_data(message, &position, hello->stream, strlen(hello->stream), 512) &&
            bw_message_data(message, &position, hello->group, strlen(hello->group), 64) &&
            bw_message_data(message, &position, hello->session, strlen(hello->session), 64) &&
            bw_message_data(message, &position, hello->reader_file, strlen(hello->reader_file), 64) &&
            bw_message_data(message, &position, hello->previous_reader_file,
                    strlen(hello->previous_reader_file), 64) &&
            bw_message_data(message, &position, hello->token, hello->token_length, 256);
    return fits ? position : 0;
}

/** Takes {length, bytes} as a string without zero bytes; false when it is not all there. */
static inline bool bw_message_text(
        const uint8_t *message, size_t length, size_t *position, char *text, size_t limit) {
    if (length - *position < 2) {
        return false;
    }
    const size_t text_length = bw_message_get_u16(message + *position);
    if (text_length > limit || text_length > length - *position - 2) {
        return false;
    }
    memcpy(text, message + *position + 2, text_length);
    text[text_length] = '\0';
    *position += text_length + 2;
    return strlen(text) == text_length;
}

/**
 * Decodes an answer: BW_WELCOME_TEMPLATE or BW_REFUSED_TEMPLATE, and 0 for anything malformed. Longer
 * blocks of later versions are read as far as they are known here.
 */
static inline int bw_answer_decode(
        const uint8_t *message, size_t length, bw_welcome *welcome, bw_refused *refused) {
    if (length < BW_MESSAGE_HEADER || bw_message_get_u16(message + 4) != BW_SCHEMA_ID) {
        return 0;
    }
    const size_t block_length = bw_message_get_u16(message);
    const size_t template_id = bw_message_get_u16(message + 2);
    const uint8_t *block = message + BW_MESSAGE_HEADER;
    size_t position = BW_MESSAGE_HEADER + block_length;
    if (position > length) {
        return 0;
    }
    if (template_id == BW_WELCOME_TEMPLATE && block_length >= BW_WELCOME_BLOCK) {
        memcpy(&welcome->attempt, block + BW_WELCOME_ATTEMPT, 8);
        memcpy(&welcome->generation_id[0], block + BW_WELCOME_GENERATION_HIGH, 8);
        memcpy(&welcome->generation_id[1], block + BW_WELCOME_GENERATION_LOW, 8);
        memcpy(&welcome->first_step, block + BW_WELCOME_FIRST_STEP, 8);
        memcpy(&welcome->first_index, block + BW_WELCOME_FIRST_INDEX, 8);
        memcpy(&welcome->control_size_bytes, block + BW_WELCOME_CONTROL_SIZE_BYTES, 8);
        memcpy(&welcome->data_size_bytes, block + BW_WELCOME_DATA_SIZE_BYTES, 8);
        memcpy(&welcome->stream_id[0], block + BW_WELCOME_STREAM_ID_HIGH, 8);
        memcpy(&welcome->stream_id[1], block + BW_WELCOME_STREAM_ID_LOW, 8);
        memcpy(&welcome->view_version, block + BW_WELCOME_VIEW_VERSION, 8);
        memcpy(&welcome->abi, block + BW_WELCOME_ABI, 4);
        memcpy(&welcome->ring, block + BW_WELCOME_RING, 4);
        memcpy(&welcome->slots, block + BW_WELCOME_SLOTS, 4);
        memcpy(&welcome->page_size_bytes, block + BW_WELCOME_PAGE_SIZE_BYTES, 4);
        memcpy(&welcome->hold, block + BW_WELCOME_HOLD, 4);
        memcpy(&welcome->grid_dp, block + BW_WELCOME_GRID_DP, 4);
        memcpy(&welcome->grid_cp, block + BW_WELCOME_GRID_CP, 4);
        return bw_message_text(message, length, &position, welcome->control_file, 64) &&
                        bw_message_text(message, length, &position, welcome->data_file, 64)
                ? BW_WELCOME_TEMPLATE
                : 0;
    }
    if (template_id == BW_REFUSED_TEMPLATE && block_length >= BW_REFUSED_BLOCK) {
        memcpy(&refused->attempt, block + BW_REFUSED_ATTEMPT, 8);
        memcpy(&refused->step, block + BW_REFUSED_STEP, 8);
        memcpy(&refused->bytes, block + BW_REFUSED_BYTES, 8);
        memcpy(&refused->retry_after_millis, block + BW_REFUSED_RETRY_AFTER_MILLIS, 4);
        refused->code = block[BW_REFUSED_CODE];
        return bw_message_text(message, length, &position, refused->text, 1024) ? BW_REFUSED_TEMPLATE : 0;
    }
    return 0;
}

#endif
