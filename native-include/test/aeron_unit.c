/*
 * The Aeron client against files made here: rings that wrap and fill up, broadcasts that lap, logs that end,
 * and everything a damaged file can say. Argument: a directory of its own.
 */
#include "check.h"

#include "../batchweave_aeron.h"

#include <pthread.h>

enum { RING = 4096, EVENTS = 4096, LABELS = 1024, VALUES = 1024, ERRORS = 1024 };
enum {
    CNC_LENGTH = 128 + RING + BW_AERON_RING_TRAILER + EVENTS + BW_AERON_BROADCAST_TRAILER + LABELS + VALUES + ERRORS
};

static char directory[256];

static void path_of(char *path, const char *name) {
    CHECK(bw_path_join(path, BW_PATH_CAPACITY, directory, name));
}

static void write_file(const char *name, const void *bytes, size_t length, size_t file_length) {
    char path[BW_PATH_CAPACITY];
    path_of(path, name);
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK(length == 0 || fwrite(bytes, 1, length, file) == length);
    CHECK(fclose(file) == 0);
    CHECK(truncate(path, (off_t)file_length) == 0);
}

static void meta(uint8_t *bytes, int32_t version) {
    memset(bytes, 0, 128);
    bw_put_i32(bytes + BW_AERON_CNC_VERSION, version);
    bw_put_i32(bytes + BW_AERON_CNC_TO_DRIVER_LENGTH, RING + BW_AERON_RING_TRAILER);
    bw_put_i32(bytes + BW_AERON_CNC_TO_CLIENTS_LENGTH, EVENTS + BW_AERON_BROADCAST_TRAILER);
    bw_put_i32(bytes + BW_AERON_CNC_COUNTER_LABELS_LENGTH, LABELS);
    bw_put_i32(bytes + BW_AERON_CNC_COUNTER_VALUES_LENGTH, VALUES);
    bw_put_i32(bytes + BW_AERON_CNC_ERROR_LOG_LENGTH, ERRORS);
}

static bw_status map_cnc(bw_aeron *aeron, bw_error *error) {
    memset(aeron, 0, sizeof *aeron);
    memcpy(aeron->directory, directory, strlen(directory) + 1);
    aeron->driver_timeout_ns = INT64_C(60000000000);
    aeron->keepalive_interval_ns = INT64_C(100000000);
    aeron->heartbeat_ns = bw_now_ns();
    aeron->keepalive_ns = bw_now_ns();
    return bw_aeron_map(aeron, error);
}

static void open_cnc(bw_aeron *aeron) {
    uint8_t bytes[128];
    meta(bytes, 0x000200);
    write_file("cnc.dat", bytes, sizeof bytes, CNC_LENGTH);
    bw_error error;
    CHECK_EQUAL(BW_OK, map_cnc(aeron, &error));
    aeron->client_id = 7;
}

static void should_name_what_is_wrong_with_cnc(void) {
    bw_aeron aeron;
    bw_error error;
    uint8_t bytes[128];

    write_file("cnc.dat", NULL, 0, 0);
    CHECK_EQUAL(BW_AGAIN, map_cnc(&aeron, &error));
    /* U13: a daemon killed while it made the file left it so; the next one makes another. */
    CHECK_EQUAL(BW_ERROR_NO_DAEMON, bw_aeron_connect(&aeron, directory, 1000000, bw_deadline_ns(5000000), &error));
    CHECK(strstr(error.text, "too short") != NULL);

    meta(bytes, 0);
    write_file("cnc.dat", bytes, sizeof bytes, CNC_LENGTH);
    CHECK_EQUAL(BW_ERROR_NO_DAEMON, bw_aeron_connect(&aeron, directory, 1000000, bw_deadline_ns(5000000), &error));

    const int32_t versions[] = {0x010200, 0x000300, 0x000100, 0x7F000200, -1, 1};
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; ++i) {
        meta(bytes, versions[i]);
        write_file("cnc.dat", bytes, sizeof bytes, CNC_LENGTH);
        CHECK_EQUAL(BW_ERROR_VERSION, map_cnc(&aeron, &error));
    }

    meta(bytes, 0x000200);
    write_file("cnc.dat", bytes, sizeof bytes, CNC_LENGTH - 1);
    CHECK_EQUAL(BW_ERROR_CORRUPT, map_cnc(&aeron, &error));
    const int fields[] = {BW_AERON_CNC_TO_DRIVER_LENGTH, BW_AERON_CNC_TO_CLIENTS_LENGTH,
        BW_AERON_CNC_COUNTER_LABELS_LENGTH, BW_AERON_CNC_COUNTER_VALUES_LENGTH, BW_AERON_CNC_ERROR_LOG_LENGTH};
    const int32_t values[] = {-1, INT32_MIN, INT32_MAX, 1, 3 * 1024 + BW_AERON_RING_TRAILER};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; ++i) {
        for (size_t j = 0; j < sizeof values / sizeof values[0]; ++j) {
            meta(bytes, 0x000200);
            bw_put_i32(bytes + fields[i], values[j]);
            write_file("cnc.dat", bytes, sizeof bytes, CNC_LENGTH);
            const bw_status status = map_cnc(&aeron, &error);
            const bool harmless = fields[i] == BW_AERON_CNC_ERROR_LOG_LENGTH && values[j] == 1;
            CHECK_EQUAL(harmless ? BW_OK : BW_ERROR_CORRUPT, status);
            bw_aeron_unmap(&aeron);
        }
    }
}

static void should_survive_random_meta_data(void) {
    unsigned seed = 12345;
    for (int round = 0; round < 2000; ++round) {
        uint8_t bytes[128];
        meta(bytes, 0x000200);
        for (int i = 0; i < 3; ++i) {
            seed = seed * 1103515245u + 12345u;
            bytes[(seed >> 8) % 28u] = (uint8_t)(seed >> 16);
        }
        write_file("cnc.dat", bytes, sizeof bytes, CNC_LENGTH);
        bw_aeron aeron;
        bw_error error;
        const bw_status status = map_cnc(&aeron, &error);
        CHECK(status == BW_OK || status == BW_AGAIN || status == BW_ERROR_VERSION || status == BW_ERROR_CORRUPT);
        if (status == BW_OK) {
            const uint8_t *end = aeron.cnc + aeron.cnc_length;
            CHECK(aeron.events + aeron.events_capacity + BW_AERON_BROADCAST_TRAILER <= end);
            CHECK(aeron.counters + aeron.counters_count * BW_AERON_COUNTER_LENGTH <= end);
            bw_aeron_unmap(&aeron);
        }
    }
}

static void should_wait_for_a_heartbeat(void) {
    bw_aeron aeron;
    bw_error error;
    open_cnc(&aeron);
    bw_store_release_i64(aeron.commands + RING + BW_AERON_RING_HEARTBEAT, 1000); /* 1970 */
    bw_aeron_unmap(&aeron);
    const int64_t before_ns = bw_now_ns();
    CHECK_EQUAL(BW_ERROR_NO_DAEMON,
            bw_aeron_connect(&aeron, directory, INT64_C(50000000), bw_deadline_ns(100000000), &error));
    CHECK(strstr(error.text, "stands still") != NULL);
    CHECK(bw_now_ns() - before_ns < INT64_C(5000000000));
}

/** Consumes what is readable, as the driver does: zeroes it and moves the head. Returns the records. */
static int consume(bw_aeron *aeron, int32_t *last_type) {
    int records = 0;
    uint8_t *head_word = aeron->commands + RING + BW_AERON_RING_HEAD;
    for (;;) {
        const int64_t head = bw_load_acquire_i64(head_word);
        const int64_t index = head & (RING - 1);
        const int32_t length = bw_load_acquire_i32(aeron->commands + index);
        if (length <= 0) {
            return records;
        }
        *last_type = bw_load_relaxed_i32(aeron->commands + index + 4);
        const int64_t aligned = bw_align(length, 8);
        CHECK(index + aligned <= RING);
        memset(aeron->commands + index, 0, (size_t)aligned);
        bw_store_release_i64(head_word, head + aligned);
        records += *last_type == BW_AERON_RECORD_PADDING ? 0 : 1;
    }
}

static void should_wrap_and_fill_the_command_ring(void) {
    bw_aeron aeron;
    bw_error error;
    open_cnc(&aeron);
    uint8_t body[512];
    memset(body, 0xAB, sizeof body);
    int32_t type = 0;
    for (int i = 0; i < 1000; ++i) {
        CHECK_EQUAL(BW_OK, bw_aeron_command(&aeron, 5, body, 1 + i % 300, &error));
        CHECK_EQUAL(1, consume(&aeron, &type));
        CHECK_EQUAL(5, type);
    }
    int written = 0;
    while (bw_aeron_command(&aeron, 6, body, 100, &error) == BW_OK) {
        ++written;
    }
    CHECK(written >= RING / 112 - 2 && written <= RING / 112);
    CHECK_EQUAL(written, consume(&aeron, &type));
    CHECK_EQUAL(BW_ERROR_ARGUMENT, bw_aeron_command(&aeron, 6, body, RING / 8, &error));
    bw_store_release_i64(aeron.commands + RING + BW_AERON_RING_TAIL, 13);
    CHECK_EQUAL(BW_ERROR_CORRUPT, bw_aeron_command(&aeron, 6, body, 8, &error));
    bw_store_release_i64(aeron.commands + RING + BW_AERON_RING_TAIL, INT64_MIN + 8);
    CHECK_EQUAL(BW_ERROR_CORRUPT, bw_aeron_command(&aeron, 6, body, 8, &error));
    bw_aeron_unmap(&aeron);
}

static void *write_commands(void *argument) {
    bw_aeron *aeron = (bw_aeron *)argument;
    uint8_t body[40];
    memset(body, 1, sizeof body);
    for (int i = 0; i < 5000;) {
        const bw_status status = bw_aeron_command(aeron, 9, body, 17 + i % 20, NULL);
        CHECK(status == BW_OK || status == BW_AGAIN);
        i += status == BW_OK ? 1 : 0;
    }
    return NULL;
}

static void should_let_many_write_commands_at_once(void) {
    bw_aeron aeron;
    open_cnc(&aeron);
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i) {
        CHECK(pthread_create(&threads[i], NULL, write_commands, &aeron) == 0);
    }
    int records = 0;
    int32_t type = 9;
    const int64_t deadline_ns = bw_deadline_ns(INT64_C(30000000000));
    while (records < 15000) {
        CHECK(bw_now_ns() < deadline_ns);
        records += consume(&aeron, &type);
        CHECK(type == 9 || type == BW_AERON_RECORD_PADDING);
    }
    for (int i = 0; i < 3; ++i) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    bw_aeron_unmap(&aeron);
}

/** Broadcasts one event as the driver does. */
static void transmit(bw_aeron *aeron, int32_t type, const uint8_t *body, int32_t length) {
    uint8_t *trailer = aeron->events + EVENTS;
    int64_t tail = bw_load_relaxed_i64(trailer + BW_AERON_BROADCAST_TAIL);
    const int64_t aligned = bw_align(length + 8, 8);
    const int64_t to_end = EVENTS - (tail & (EVENTS - 1));
    const int64_t padding = aligned > to_end ? to_end : 0;
    bw_store_release_i64(trailer + BW_AERON_BROADCAST_TAIL_INTENT, tail + padding + aligned);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (padding != 0) {
        bw_store_relaxed_i32(aeron->events + (tail & (EVENTS - 1)), (int32_t)padding);
        bw_store_relaxed_i32(aeron->events + (tail & (EVENTS - 1)) + 4, BW_AERON_RECORD_PADDING);
        tail += padding;
    }
    bw_store_relaxed_i32(aeron->events + (tail & (EVENTS - 1)), length + 8);
    bw_store_relaxed_i32(aeron->events + (tail & (EVENTS - 1)) + 4, type);
    memcpy(aeron->events + (tail & (EVENTS - 1)) + 8, body, (size_t)length);
    bw_store_relaxed_i64(trailer + BW_AERON_BROADCAST_LATEST, tail);
    bw_store_release_i64(trailer + BW_AERON_BROADCAST_TAIL, tail + aligned);
}

static void should_receive_events_and_notice_laps(void) {
    bw_aeron aeron;
    bw_error error;
    open_cnc(&aeron);
    uint8_t body[200];
    memset(body, 0, sizeof body);
    CHECK_EQUAL(BW_AGAIN, bw_aeron_receive(&aeron, &error));
    for (int i = 0; i < 500; ++i) {
        transmit(&aeron, 0x0F00 + i % 8, body, 40 + i % 150);
        CHECK_EQUAL(BW_OK, bw_aeron_receive(&aeron, &error));
        CHECK_EQUAL(0x0F00 + i % 8, aeron.event_type);
        CHECK_EQUAL(40 + i % 150, aeron.event_length);
        CHECK_EQUAL(BW_AGAIN, bw_aeron_receive(&aeron, &error));
    }
    for (int i = 0; i < 60; ++i) {
        transmit(&aeron, 0x0F00, body, 100);
    }
    CHECK_EQUAL(BW_ERROR_STARVED, bw_aeron_receive(&aeron, &error));
    CHECK(strstr(error.text, "overwritten") != NULL);
    bw_aeron_unmap(&aeron);

    const int32_t lengths[] = {0, 7, -1, INT32_MIN, INT32_MAX, EVENTS + 8};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
        open_cnc(&aeron);
        transmit(&aeron, 0x0F00, body, 100);
        bw_store_relaxed_i32(aeron.events, lengths[i]);
        CHECK_EQUAL(BW_ERROR_CORRUPT, bw_aeron_receive(&aeron, &error));
        bw_aeron_unmap(&aeron);
    }
}

static void should_read_errors_and_time_outs(void) {
    bw_aeron aeron;
    bw_error error;
    open_cnc(&aeron);
    uint8_t body[64];
    memset(body, 0, sizeof body);
    bw_put_i64(body, 42);
    bw_put_i32(body + 8, 11);
    bw_put_i32(body + 12, 5);
    memcpy(body + 16, "wrong", 5);
    transmit(&aeron, BW_AERON_ON_ERROR, body, 21);
    CHECK_EQUAL(BW_ERROR_DRIVER, bw_aeron_await(&aeron, 42, 0x0F06, bw_deadline_ns(INT64_C(1000000000)), &error));
    CHECK_EQUAL(11, error.refused_code);
    CHECK(strstr(error.text, "wrong") != NULL);
    bw_put_i32(body + 12, INT32_MAX); /* a text length beyond the event */
    transmit(&aeron, BW_AERON_ON_ERROR, body, 21);
    CHECK_EQUAL(BW_ERROR_DRIVER, bw_aeron_await(&aeron, 42, 0x0F06, bw_deadline_ns(INT64_C(1000000000)), &error));
    bw_put_i64(body, aeron.client_id);
    transmit(&aeron, BW_AERON_ON_CLIENT_TIMEOUT, body, 8);
    CHECK_EQUAL(BW_ERROR_STARVED, bw_aeron_await(&aeron, 42, 0x0F06, bw_deadline_ns(INT64_C(1000000000)), &error));
    CHECK_EQUAL(BW_ERROR_STARVED, bw_aeron_await(&aeron, 42, 0x0F06, bw_now_ns(), &error));
    aeron.driver_timeout_ns = INT64_C(30000000);
    CHECK_EQUAL(BW_ERROR_NO_DAEMON, bw_aeron_await(&aeron, 42, 0x0F06, bw_deadline_ns(-1), &error));
    bw_aeron_unmap(&aeron);
}

enum { TERM = 64 * 1024, LOG_LENGTH = 3 * TERM + 4096 };

static void log_file(const char *name, int32_t term_length, int32_t mtu, size_t length) {
    char path[BW_PATH_CAPACITY];
    path_of(path, "publications");
    (void)mkdir(path, 0700);
    write_file(name, NULL, 0, length);
    path_of(path, name);
    FILE *file = fopen(path, "r+b");
    CHECK(file != NULL);
    if (length >= 4096) {
        const int32_t initial = INT32_MAX; /* term ids wrap */
        const int64_t tail = (int64_t)((uint64_t)(uint32_t)initial << 32);
        const long meta_offset = (long)length - 4096;
        CHECK(fseek(file, meta_offset, SEEK_SET) == 0 && fwrite(&tail, 8, 1, file) == 1);
        CHECK(fseek(file, meta_offset + BW_AERON_LOG_INITIAL_TERM_ID, SEEK_SET) == 0);
        CHECK(fwrite(&initial, 4, 1, file) == 1);
        CHECK(fseek(file, meta_offset + BW_AERON_LOG_MTU, SEEK_SET) == 0 && fwrite(&mtu, 4, 1, file) == 1);
        CHECK(fwrite(&term_length, 4, 1, file) == 1);
    }
    CHECK(fclose(file) == 0);
}

static bw_status open_log(const bw_aeron *aeron, bw_aeron_log *log, const char *name, bw_error *error) {
    memset(log, 0, sizeof *log);
    return bw_aeron_log_open(log, aeron, (const uint8_t *)name, (int32_t)strlen(name), error);
}

static void should_refuse_damaged_logs(void) {
    bw_aeron aeron;
    bw_error error;
    bw_aeron_log log;
    open_cnc(&aeron);
    const char *name = "/elsewhere/publications/7.logbuffer";
    const char *file = "publications/7.logbuffer";
    log_file(file, TERM, 1408, LOG_LENGTH);
    CHECK_EQUAL(BW_OK, open_log(&aeron, &log, name, &error));
    bw_aeron_log_close(&log);
    const int32_t terms[] = {0, -1, 1024, TERM + 1, 3 * TERM, 2 * TERM, INT32_MIN, 1 << 30};
    for (size_t i = 0; i < sizeof terms / sizeof terms[0]; ++i) {
        log_file(file, terms[i], 1408, LOG_LENGTH);
        CHECK_EQUAL(BW_ERROR_CORRUPT, open_log(&aeron, &log, name, &error));
        CHECK(log.base == NULL);
    }
    const int32_t mtus[] = {0, 32, -1, 2 * TERM};
    for (size_t i = 0; i < sizeof mtus / sizeof mtus[0]; ++i) {
        log_file(file, TERM, mtus[i], LOG_LENGTH);
        CHECK_EQUAL(BW_ERROR_CORRUPT, open_log(&aeron, &log, name, &error));
    }
    const size_t lengths[] = {0, 100, 4095, 4097, LOG_LENGTH - 4096};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
        log_file(file, TERM, 1408, lengths[i]);
        CHECK_EQUAL(BW_ERROR_CORRUPT, open_log(&aeron, &log, name, &error));
    }
    CHECK_EQUAL(BW_ERROR_CORRUPT, open_log(&aeron, &log, "/elsewhere/", &error));
    CHECK_EQUAL(BW_ERROR_SYSTEM, open_log(&aeron, &log, "../../8.logbuffer", &error));
    bw_aeron_unmap(&aeron);
}

static void should_offer_over_the_ends_of_terms(void) {
    bw_aeron aeron;
    bw_error error;
    open_cnc(&aeron);
    log_file("publications/9.logbuffer", TERM, 1408, LOG_LENGTH);
    bw_aeron_publication publication;
    bw_aeron_subscription subscription;
    memset(&publication, 0, sizeof publication);
    memset(&subscription, 0, sizeof subscription);
    CHECK_EQUAL(BW_OK, open_log(&aeron, &publication.log, "/9.logbuffer", &error));
    CHECK_EQUAL(BW_OK, open_log(&aeron, &subscription.log, "/9.logbuffer", &error));
    publication.limit = bw_aeron_counter(&aeron, 0);
    subscription.position_counter = bw_aeron_counter(&aeron, 1);
    CHECK(bw_aeron_counter(&aeron, -1) == NULL && bw_aeron_counter(&aeron, VALUES / 128) == NULL);
    uint8_t message[1376] = {0};
    uint8_t got[1376];
    int32_t length = 0;
    CHECK_EQUAL(BW_AGAIN, bw_aeron_offer(&publication, message, 10, &error));
    CHECK_EQUAL(BW_ERROR_ARGUMENT, bw_aeron_offer(&publication, message, 1377, &error));
    for (int i = 0; i < 1000; ++i) {
        const int32_t wanted = i * 37 % 1377;
        memset(message, i, sizeof message);
        /* the driver cleans what lies a term ahead of the reader, and gives a window */
        const int64_t position = subscription.position;
        const int64_t dirty = (position / TERM + 1) % 3 * TERM;
        if (position % TERM < TERM / 2) {
            memset(publication.log.base + dirty, 0, TERM);
        }
        bw_store_release_i64(aeron.counters, position + TERM / 2);
        CHECK_EQUAL(BW_OK, bw_aeron_offer(&publication, message, wanted, &error));
        CHECK_EQUAL(BW_OK, bw_aeron_poll_image(&subscription, got, sizeof got, &length, &error));
        CHECK_EQUAL(wanted, length);
        CHECK(memcmp(message, got, (size_t)wanted) == 0);
        CHECK_EQUAL(BW_AGAIN, bw_aeron_poll_image(&subscription, got, sizeof got, &length, &error));
    }
    CHECK(subscription.position > 5 * TERM);
    CHECK_EQUAL(subscription.position, bw_load_acquire_i64(subscription.position_counter));

    const int32_t frame_lengths[] = {1, 31, TERM + 32, INT32_MAX};
    uint8_t *frame = subscription.log.base + (subscription.position / TERM) % 3 * TERM + subscription.position % TERM;
    for (size_t i = 0; i < sizeof frame_lengths / sizeof frame_lengths[0]; ++i) {
        bw_store_release_i32(frame, frame_lengths[i]);
        CHECK_EQUAL(BW_ERROR_CORRUPT, bw_aeron_poll_image(&subscription, got, sizeof got, &length, &error));
    }
    memset(frame, 0, 32);
    frame[6] = 1;
    frame[5] = 0x80; /* a first fragment */
    bw_store_release_i32(frame, 64);
    CHECK_EQUAL(BW_ERROR_CORRUPT, bw_aeron_poll_image(&subscription, got, sizeof got, &length, &error));
    subscription.position = -32;
    CHECK_EQUAL(BW_ERROR_CORRUPT, bw_aeron_poll_image(&subscription, got, sizeof got, &length, &error));
    bw_store_release_i64(aeron.counters, INT64_MAX);
    bw_store_release_i32(publication.log.meta + BW_AERON_LOG_ACTIVE_TERM_COUNT, -1);
    CHECK_EQUAL(BW_ERROR_CORRUPT, bw_aeron_offer(&publication, message, 10, &error));
    bw_store_release_i32(publication.log.meta + BW_AERON_LOG_ACTIVE_TERM_COUNT, 1000);
    CHECK_EQUAL(BW_ERROR_CORRUPT, bw_aeron_offer(&publication, message, 10, &error));
    bw_aeron_log_close(&publication.log);
    bw_aeron_log_close(&subscription.log);
    bw_aeron_unmap(&aeron);
}

int main(int count, char **arguments) {
    CHECK(count == 2 && strlen(arguments[1]) < sizeof directory);
    memcpy(directory, arguments[1], strlen(arguments[1]) + 1);
    should_name_what_is_wrong_with_cnc();
    should_survive_random_meta_data();
    should_wait_for_a_heartbeat();
    should_wrap_and_fill_the_command_ring();
    should_let_many_write_commands_at_once();
    should_receive_events_and_notice_laps();
    should_read_errors_and_time_outs();
    should_refuse_damaged_logs();
    should_offer_over_the_ends_of_terms();
    return 0;
}
