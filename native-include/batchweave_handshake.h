/*
 * The messages of batchweave-handshake.xml as literal offsets: encode what a rank says, decode what it is told.
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
    BW_REFUSED_CODE = 28,

    BW_CHECKPOINT_TEMPLATE = 4,
    BW_CHECKPOINT_BLOCK = 36,
    BW_CHECKPOINT_ATTEMPT = 0,
    BW_CHECKPOINT_STEP = 8,
    BW_CHECKPOINT_WELCOME_STREAM_ID = 16,
    BW_CHECKPOINT_ABI = 20,
    BW_CHECKPOINT_VIEW_VERSION = 24,
    BW_CHECKPOINT_KEEP = 32,

    BW_REGISTERED_TEMPLATE = 5,
    BW_REGISTERED_BLOCK = 16,
    BW_REGISTERED_ATTEMPT = 0,
    BW_REGISTERED_VERSION = 8,

    BW_QUESTION_TEMPLATE = 6,
    BW_QUESTION_BLOCK = 24,
    BW_QUESTION_ATTEMPT = 0,
    BW_QUESTION_VIEW_VERSION = 8,
    BW_QUESTION_WELCOME_STREAM_ID = 16,
    BW_QUESTION_ABI = 20,

    BW_STATUS_TEMPLATE = 7,
    BW_STATUS_BLOCK = 41,
    BW_STATUS_ATTEMPT = 0,
    BW_STATUS_NEXT_STEP = 8,
    BW_STATUS_HORIZON = 16,
    BW_STATUS_START_STEP = 24,
    BW_STATUS_SESSION_STEPS = 32,
    BW_STATUS_IS_SEALED = 40
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
    BW_REFUSAL_CLOSING = 16,
    BW_REFUSAL_CHECKPOINT = 17
};

/** Name of a refusal, for messages. */
static inline const char *bw_refusal_name(int code) {
    static const char *const names[] = {"NOT_YET", "MALFORMED", "ABI_MISMATCH", "UNKNOWN_STREAM",
        "GRID_MISMATCH", "SIZES_DISAGREE", "NO_RING", "RING_HELD", "LOCK_NOT_VISIBLE", "READER_FILE",
        "TOKEN_OF_OTHER_STREAM", "START_DISAGREES", "SUPERSEDED", "SESSION_LIVE", "RECLAIMED",
        "STREAM_FAILED", "CLOSING", "CHECKPOINT"};
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

/** Rank to daemon: a model checkpoint is durable. Strings end with zero. */
typedef struct bw_checkpoint {
    int64_t step;
    int32_t abi;
    int64_t view_version;
    int32_t keep;
    const char *stream;
    const char *group;
    const char *session;
    const char *id;
} bw_checkpoint;

/** Rank to daemon: how does the stream stand? */
typedef struct bw_question {
    int64_t view_version;
    int32_t abi;
    const char *stream;
    const char *group;
    const char *session;
} bw_question;

/** How a stream stands at its head. */
typedef struct bw_stream_status {
    /** Steps committed. */
    int64_t next_step;
    /** First step not reclaimed. */
    int64_t horizon;
    /** The first step of the session. */
    int64_t start_step;
    /** Steps from there to next_step that the session reads; skipped and reclaimed ones do not count. */
    int64_t session_steps;
    /** Whether the stream ends at next_step; otherwise more may come. */
    bool sealed;
} bw_stream_status;

/** Daemon to rank: any answer; `kind` is its template and says which member holds it. */
typedef struct bw_answer {
    int kind;
    /** Attempt of what it answers. */
    int64_t attempt;
    bw_welcome welcome;
    bw_refused refused;
    /** Of Registered: the manifest version at which the checkpoint was seen to be registered. */
    int64_t version;
    bw_stream_status status;
} bw_answer;

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

/** Every request has these two at these places of its block. */
static inline void bw_request_address(uint8_t *message, int64_t attempt, int32_t welcome_stream_id) {
    memcpy(message + BW_MESSAGE_HEADER + BW_HELLO_ATTEMPT, &attempt, 8);
    memcpy(message + BW_MESSAGE_HEADER + BW_HELLO_WELCOME_STREAM_ID, &welcome_stream_id, 4);
}

static inline void bw_message_head(uint8_t *message, size_t block_length, size_t template_id) {
    bw_message_u16(message, block_length);
    bw_message_u16(message + 2, template_id);
    bw_message_u16(message + 4, BW_SCHEMA_ID);
    bw_message_u16(message + 6, BW_SCHEMA_VERSION);
    memset(message + BW_MESSAGE_HEADER, 0, block_length);
}

/** Encodes a Checkpoint; the length, or 0 when a field is too long. See bw_request_address. */
static inline size_t bw_checkpoint_encode(const bw_checkpoint *checkpoint, uint8_t *message) {
    uint8_t *block = message + BW_MESSAGE_HEADER;
    bw_message_head(message, BW_CHECKPOINT_BLOCK, BW_CHECKPOINT_TEMPLATE);
    memcpy(block + BW_CHECKPOINT_STEP, &checkpoint->step, 8);
    memcpy(block + BW_CHECKPOINT_ABI, &checkpoint->abi, 4);
    memcpy(block + BW_CHECKPOINT_VIEW_VERSION, &checkpoint->view_version, 8);
    memcpy(block + BW_CHECKPOINT_KEEP, &checkpoint->keep, 4);
    size_t position = BW_MESSAGE_HEADER + BW_CHECKPOINT_BLOCK;
    const bool fits =
            bw_message_data(message, &position, checkpoint->stream, strlen(checkpoint->stream), 512) &&
            bw_message_data(message, &position, checkpoint->group, strlen(checkpoint->group), 64) &&
            bw_message_data(message, &position, checkpoint->session, strlen(checkpoint->session), 64) &&
            bw_message_data(message, &position, checkpoint->id, strlen(checkpoint->id), 64);
    return fits ? position : 0;
}

/** Encodes a Question; the length, or 0 when a field is too long. See bw_request_address. */
static inline size_t bw_question_encode(const bw_question *question, uint8_t *message) {
    uint8_t *block = message + BW_MESSAGE_HEADER;
    bw_message_head(message, BW_QUESTION_BLOCK, BW_QUESTION_TEMPLATE);
    memcpy(block + BW_QUESTION_VIEW_VERSION, &question->view_version, 8);
    memcpy(block + BW_QUESTION_ABI, &question->abi, 4);
    size_t position = BW_MESSAGE_HEADER + BW_QUESTION_BLOCK;
    const bool fits =
            bw_message_data(message, &position, question->stream, strlen(question->stream), 512) &&
            bw_message_data(message, &position, question->group, strlen(question->group), 64) &&
            bw_message_data(message, &position, question->session, strlen(question->session), 64);
    return fits ? position : 0;
}

/** Encodes into `message` of BW_MESSAGE_CAPACITY bytes; the length, or 0 when a field is too long. */
static inline size_t bw_hello_encode(const bw_hello *hello, uint8_t *message) {
    uint8_t *block = message + BW_MESSAGE_HEADER;
    bw_message_head(message, BW_HELLO_BLOCK, BW_HELLO_TEMPLATE);
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
 * Decodes an answer into the member that its kind names; false for anything malformed. Longer blocks of
 * later versions are read as far as they are known here.
 */
static inline bool bw_answer_decode(const uint8_t *message, size_t length, bw_answer *answer) {
    bw_welcome *welcome = &answer->welcome;
    bw_refused *refused = &answer->refused;
    if (length < BW_MESSAGE_HEADER || bw_message_get_u16(message + 4) != BW_SCHEMA_ID) {
        return false;
    }
    const size_t block_length = bw_message_get_u16(message);
    const size_t template_id = bw_message_get_u16(message + 2);
    const uint8_t *block = message + BW_MESSAGE_HEADER;
    size_t position = BW_MESSAGE_HEADER + block_length;
    if (position > length || block_length < 8) {
        return false;
    }
    answer->kind = (int)template_id;
    memcpy(&answer->attempt, block, 8); /* first in every answer */
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
                bw_message_text(message, length, &position, welcome->data_file, 64);
    }
    if (template_id == BW_REFUSED_TEMPLATE && block_length >= BW_REFUSED_BLOCK) {
        memcpy(&refused->attempt, block + BW_REFUSED_ATTEMPT, 8);
        memcpy(&refused->step, block + BW_REFUSED_STEP, 8);
        memcpy(&refused->bytes, block + BW_REFUSED_BYTES, 8);
        memcpy(&refused->retry_after_millis, block + BW_REFUSED_RETRY_AFTER_MILLIS, 4);
        refused->code = block[BW_REFUSED_CODE];
        return bw_message_text(message, length, &position, refused->text, 1024);
    }
    if (template_id == BW_REGISTERED_TEMPLATE && block_length >= BW_REGISTERED_BLOCK) {
        memcpy(&answer->version, block + BW_REGISTERED_VERSION, 8);
        return true;
    }
    if (template_id == BW_STATUS_TEMPLATE && block_length >= BW_STATUS_BLOCK) {
        memcpy(&answer->status.next_step, block + BW_STATUS_NEXT_STEP, 8);
        memcpy(&answer->status.horizon, block + BW_STATUS_HORIZON, 8);
        memcpy(&answer->status.start_step, block + BW_STATUS_START_STEP, 8);
        memcpy(&answer->status.session_steps, block + BW_STATUS_SESSION_STEPS, 8);
        answer->status.sealed = block[BW_STATUS_IS_SEALED] != 0;
        return true;
    }
    return false;
}

#endif
