/*
 * The part of an Aeron 1.51.0 IPC client that one attach needs: connect to a media driver through its
 * cnc.dat, add a subscription and an exclusive publication on aeron:ipc, offer one message, poll one
 * answer, close. No thread, no allocation, no callback.
 *
 *   cnc.dat      +0      meta data (128): version, buffer lengths, liveness timeout, start, pid
 *                +128    to-driver ring: many writers, one reader; trailer of six 128-byte fields
 *                        followed by to-clients broadcast (trailer 128), counter labels (512 each),
 *                        counter values (128 each), error log
 *   *.logbuffer  three terms, then 4096 bytes of meta data at the end of the file
 *
 * Every number read from a mapping is checked before it is used as offset, length or id. A driver
 * counts as alive while its heartbeat changes, whatever the wall clock says.
 *
 * One bw_aeron belongs to one thread. A process killed anywhere in here leaves nothing that the driver
 * does not clear up by its own time-outs; BW_STEP marks the places for tests.
 */
#ifndef BATCHWEAVE_AERON_H
#define BATCHWEAVE_AERON_H

#include "batchweave_base.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef BW_STEP
/** Named points at which tests stop or kill the process. */
#define BW_STEP(name) ((void)0)
#endif

/** Version of Aeron whose layouts these are. */
#define BW_AERON_VERSION "1.51.0"
/** The channel of every exchange. */
#define BW_AERON_CHANNEL "aeron:ipc"

enum {
    BW_AERON_CNC_VERSION_MAJOR = 0,
    BW_AERON_CNC_VERSION_MINOR = 2,
    BW_AERON_CNC_META_LENGTH = 128,
    BW_AERON_CNC_VERSION = 0,
    BW_AERON_CNC_TO_DRIVER_LENGTH = 4,
    BW_AERON_CNC_TO_CLIENTS_LENGTH = 8,
    BW_AERON_CNC_COUNTER_LABELS_LENGTH = 12,
    BW_AERON_CNC_COUNTER_VALUES_LENGTH = 16,
    BW_AERON_CNC_ERROR_LOG_LENGTH = 20,
    BW_AERON_CNC_PID = 40,

    BW_AERON_RING_TAIL = 128,
    BW_AERON_RING_HEAD_CACHE = 256,
    BW_AERON_RING_HEAD = 384,
    BW_AERON_RING_CORRELATION = 512,
    BW_AERON_RING_HEARTBEAT = 640,
    BW_AERON_RING_TRAILER = 768,

    BW_AERON_BROADCAST_TAIL_INTENT = 0,
    BW_AERON_BROADCAST_TAIL = 8,
    BW_AERON_BROADCAST_LATEST = 16,
    BW_AERON_BROADCAST_TRAILER = 128,

    BW_AERON_RECORD_HEADER = 8,
    BW_AERON_RECORD_PADDING = -1,
    BW_AERON_COUNTER_LENGTH = 128,

    BW_AERON_ADD_EXCLUSIVE_PUBLICATION = 0x03,
    BW_AERON_REMOVE_PUBLICATION = 0x02,
    BW_AERON_ADD_SUBSCRIPTION = 0x04,
    BW_AERON_REMOVE_SUBSCRIPTION = 0x05,
    BW_AERON_CLIENT_KEEPALIVE = 0x06,
    BW_AERON_CLIENT_CLOSE = 0x0B,
    BW_AERON_ON_ERROR = 0x0F01,
    BW_AERON_ON_AVAILABLE_IMAGE = 0x0F02,
    BW_AERON_ON_OPERATION_SUCCEEDED = 0x0F04,
    BW_AERON_ON_UNAVAILABLE_IMAGE = 0x0F05,
    BW_AERON_ON_EXCLUSIVE_PUBLICATION_READY = 0x0F06,
    BW_AERON_ON_SUBSCRIPTION_READY = 0x0F07,
    BW_AERON_ON_CLIENT_TIMEOUT = 0x0F0A,

    BW_AERON_PARTITIONS = 3,
    BW_AERON_TERM_MIN_LENGTH = 64 * 1024,
    BW_AERON_TERM_MAX_LENGTH = 1024 * 1024 * 1024,
    BW_AERON_LOG_META_LENGTH = 4096,
    BW_AERON_LOG_ACTIVE_TERM_COUNT = 24,
    BW_AERON_LOG_IS_CONNECTED = 136,
    BW_AERON_LOG_INITIAL_TERM_ID = 264,
    BW_AERON_LOG_MTU = 272,
    BW_AERON_LOG_TERM_LENGTH = 276,

    BW_AERON_FRAME_HEADER = 32,
    BW_AERON_FRAME_ALIGNMENT = 32,
    BW_AERON_FRAME_PADDING = 0x00,
    BW_AERON_FRAME_DATA = 0x01,
    BW_AERON_FRAME_WHOLE = 0xC0
};

/** A mapped log buffer: of our publication or of an image. */
typedef struct bw_aeron_log {
    int descriptor;
    uint8_t *base;
    size_t length;
    uint8_t *meta;
    int32_t term_length;
    int32_t initial_term_id;
    int32_t mtu;
    int32_t shift;
} bw_aeron_log;

/** An exclusive publication. */
typedef struct bw_aeron_publication {
    bw_aeron_log log;
    int64_t registration_id;
    int32_t session_id;
    int32_t stream_id;
    const uint8_t *limit;
} bw_aeron_publication;

/** A subscription and its newest image. */
typedef struct bw_aeron_subscription {
    bw_aeron_log log;
    int64_t registration_id;
    int32_t stream_id;
    /** Registration of the publication that the image is of. */
    int64_t image_id;
    /** Counter that tells the driver how far we read; null: no image. Written, never read again. */
    uint8_t *position_counter;
    int64_t position;
} bw_aeron_subscription;

/** A connection to a media driver. */
typedef struct bw_aeron {
    char directory[BW_PATH_CAPACITY];
    uint8_t *cnc;
    size_t cnc_length;
    /** To-driver ring and its capacity without the trailer. */
    uint8_t *commands;
    int64_t commands_capacity;
    /** To-clients broadcast and its capacity without the trailer. */
    uint8_t *events;
    int64_t events_capacity;
    int64_t events_cursor;
    /** Counter values and how many there are. */
    uint8_t *counters;
    int64_t counters_count;
    int64_t client_id;
    /** A driver whose heartbeat stands still for this long is dead. */
    int64_t driver_timeout_ns;
    int64_t keepalive_interval_ns;
    int64_t keepalive_ns;
    int64_t heartbeat_ms;
    int64_t heartbeat_ns;
    /** Asked in every round of waiting; true stops it with BW_ERROR_INTERRUPTED. May be null. */
    bool (*stop)(void *context);
    void *stop_context;
    /** The one subscription whose images are followed. */
    bw_aeron_subscription *subscription;
    /** Newest image announced for it and not taken yet; length 0: none. */
    uint8_t image_event[1024];
    int32_t image_event_length;
    /** Body of the event received last. */
    uint8_t event[4096];
    int32_t event_length;
    int32_t event_type;
} bw_aeron;

/* ---------------------------------------------------------------- bytes of messages */

static inline void bw_put_i32(uint8_t *target, int32_t value) {
    memcpy(target, &value, sizeof value);
}

static inline void bw_put_i64(uint8_t *target, int64_t value) {
    memcpy(target, &value, sizeof value);
}

static inline int32_t bw_get_i32(const uint8_t *source) {
    int32_t value;
    memcpy(&value, source, sizeof value);
    return value;
}

static inline int64_t bw_get_i64(const uint8_t *source) {
    int64_t value;
    memcpy(&value, source, sizeof value);
    return value;
}

/* ---------------------------------------------------------------- connection */

/** Whether the ring and broadcast lengths of the meta data fit the file. */
static inline bool bw_aeron_wrap(bw_aeron *aeron, int64_t file_length) {
    const uint8_t *meta = aeron->cnc;
    const int64_t to_driver = bw_load_relaxed_i32(meta + BW_AERON_CNC_TO_DRIVER_LENGTH);
    const int64_t to_clients = bw_load_relaxed_i32(meta + BW_AERON_CNC_TO_CLIENTS_LENGTH);
    const int64_t labels = bw_load_relaxed_i32(meta + BW_AERON_CNC_COUNTER_LABELS_LENGTH);
    const int64_t values = bw_load_relaxed_i32(meta + BW_AERON_CNC_COUNTER_VALUES_LENGTH);
    const int64_t errors = bw_load_relaxed_i32(meta + BW_AERON_CNC_ERROR_LOG_LENGTH);
    if (to_driver <= 0 || to_clients <= 0 || labels < 0 || values < 0 || errors < 0 ||
            (labels & 7) != 0 || (values & 7) != 0 ||
            BW_AERON_CNC_META_LENGTH + to_driver + to_clients + labels + values + errors > file_length) {
        return false;
    }
    aeron->commands = aeron->cnc + BW_AERON_CNC_META_LENGTH;
    aeron->commands_capacity = to_driver - BW_AERON_RING_TRAILER;
    aeron->events = aeron->commands + to_driver;
    aeron->events_capacity = to_clients - BW_AERON_BROADCAST_TRAILER;
    aeron->counters = aeron->events + to_clients + labels;
    aeron->counters_count = values / BW_AERON_COUNTER_LENGTH;
    return aeron->commands_capacity >= 1024 && bw_is_power_of_two(aeron->commands_capacity) &&
            aeron->events_capacity >= 1024 && bw_is_power_of_two(aeron->events_capacity);
}

static inline int64_t bw_aeron_heartbeat_ms(const bw_aeron *aeron) {
    return bw_load_acquire_i64(aeron->commands + aeron->commands_capacity + BW_AERON_RING_HEARTBEAT);
}

/** BW_OK while the driver's heartbeat changes at least once per driver time-out. */
static inline bw_status bw_aeron_check_driver(bw_aeron *aeron, int64_t now_ns, bw_error *error) {
    const int64_t heartbeat_ms = bw_aeron_heartbeat_ms(aeron);
    if (heartbeat_ms != aeron->heartbeat_ms) {
        aeron->heartbeat_ms = heartbeat_ms;
        aeron->heartbeat_ns = now_ns;
    } else if (now_ns - aeron->heartbeat_ns > aeron->driver_timeout_ns) {
        return bw_fail(error, BW_ERROR_NO_DAEMON,
                "media driver stands still: directory=%s quietMs=%lld; is the daemon running?",
                aeron->directory, (long long)((now_ns - aeron->heartbeat_ns) / 1000000));
    }
    return BW_OK;
}

/** Unmaps everything without a word to the driver. */
static inline void bw_aeron_unmap(bw_aeron *aeron) {
    if (aeron->cnc != NULL) {
        (void)munmap(aeron->cnc, aeron->cnc_length);
        aeron->cnc = NULL;
    }
}

/** Maps cnc.dat once: BW_OK ready, BW_AGAIN not ready yet, else an error that waiting cannot cure. */
static inline bw_status bw_aeron_map(bw_aeron *aeron, bw_error *error) {
    char path[BW_PATH_CAPACITY];
    if (!bw_path_join(path, sizeof path, aeron->directory, "cnc.dat")) {
        return bw_fail(error, BW_ERROR_ARGUMENT, "path too long: directory=%s", aeron->directory);
    }
    const int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) {
        const int number = errno;
        (void)bw_fail_errno(error, "open", path, number);
        return number == ENOENT ? BW_AGAIN : BW_ERROR_SYSTEM;
    }
    struct stat status;
    const bool known = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    if (!known || status.st_size < BW_AERON_CNC_META_LENGTH) {
        (void)close(descriptor);
        (void)bw_fail(error, BW_ERROR_CORRUPT, "cnc.dat is too short: path=%s bytes=%lld", path,
                known ? (long long)status.st_size : -1LL);
        return BW_AGAIN;
    }
    aeron->cnc_length = (size_t)status.st_size;
    void *base = mmap(NULL, aeron->cnc_length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    const int number = errno;
    (void)close(descriptor);
    if (base == MAP_FAILED) {
        return bw_fail_errno(error, "mmap", path, number);
    }
    aeron->cnc = (uint8_t *)base;
    /* SYNC POINT: cnc-ready. The driver stores the version last. */
    const int32_t version = bw_load_acquire_i32(aeron->cnc + BW_AERON_CNC_VERSION);
    bw_status result = BW_OK;
    if (version == 0) {
        (void)bw_fail(error, BW_ERROR_NO_DAEMON, "cnc.dat is not ready: path=%s", path);
        result = BW_AGAIN;
    } else if (((version >> 16) & 0xFF) != BW_AERON_CNC_VERSION_MAJOR ||
            ((version >> 8) & 0xFF) != BW_AERON_CNC_VERSION_MINOR || (version >> 24) != 0) {
        result = bw_fail(error, BW_ERROR_VERSION,
                "cnc.dat has another version: path=%s version=%d.%d.%d expected=%d.%d.x; daemon and client"
                " must both use Aeron " BW_AERON_VERSION,
                path, version >> 16, (version >> 8) & 0xFF, version & 0xFF, BW_AERON_CNC_VERSION_MAJOR,
                BW_AERON_CNC_VERSION_MINOR);
    } else if (!bw_aeron_wrap(aeron, status.st_size)) {
        result = bw_fail(error, BW_ERROR_CORRUPT, "cnc.dat is damaged: path=%s bytes=%lld", path,
                (long long)status.st_size);
    }
    if (result != BW_OK) {
        bw_aeron_unmap(aeron);
    }
    return result;
}

static inline int64_t bw_aeron_next_correlation_id(bw_aeron *aeron) {
    return __atomic_fetch_add(
            (int64_t *)(aeron->commands + aeron->commands_capacity + BW_AERON_RING_CORRELATION), 1,
            __ATOMIC_SEQ_CST);
}

/**
 * Connects to the driver of `directory`, waiting for it until `deadline_ns`.
 *
 * @param driver_timeout_ns a driver whose heartbeat stands still this long is dead (the daemon beats
 *     every 100 ms).
 */
static inline bw_status bw_aeron_connect(bw_aeron *aeron, const char *directory, int64_t driver_timeout_ns,
        int64_t deadline_ns, bw_error *error) {
    memset(aeron, 0, sizeof *aeron);
    if (strlen(directory) >= sizeof aeron->directory) {
        return bw_fail(error, BW_ERROR_ARGUMENT, "path too long: directory=%.80s…", directory);
    }
    memcpy(aeron->directory, directory, strlen(directory) + 1);
    aeron->driver_timeout_ns = driver_timeout_ns;
    aeron->keepalive_interval_ns = INT64_C(100000000);
    for (;;) {
        bw_status status = bw_aeron_map(aeron, error);
        if (status == BW_OK) {
            aeron->heartbeat_ms = bw_aeron_heartbeat_ms(aeron);
            struct timespec wall;
            (void)clock_gettime(CLOCK_REALTIME, &wall);
            const int64_t wall_ms = (int64_t)wall.tv_sec * 1000 + wall.tv_nsec / 1000000;
            aeron->heartbeat_ns = bw_now_ns();
            const int64_t age_ms = wall_ms - aeron->heartbeat_ms;
            if (aeron->heartbeat_ms != 0 && age_ms > -1000 && age_ms < driver_timeout_ns / 1000000) {
                break;
            }
            /* Old, or the wall clock jumped: alive if it beats while we look. */
            const int64_t before_ms = aeron->heartbeat_ms;
            const int64_t look_until_ns = bw_now_ns() + driver_timeout_ns;
            while (bw_aeron_heartbeat_ms(aeron) == before_ms && bw_now_ns() < look_until_ns &&
                    bw_now_ns() < deadline_ns) {
                bw_sleep_ns(INT64_C(1000000));
            }
            aeron->heartbeat_ms = bw_aeron_heartbeat_ms(aeron);
            aeron->heartbeat_ns = bw_now_ns();
            if (aeron->heartbeat_ms != before_ms) {
                break;
            }
            (void)bw_fail(error, BW_ERROR_NO_DAEMON,
                    "media driver stands still: directory=%s; is the daemon running?", directory);
            bw_aeron_unmap(aeron); /* the next one has another cnc.dat */
        } else if (status != BW_AGAIN) {
            return status;
        }
        if (bw_now_ns() >= deadline_ns) {
            if (error != NULL && error->status != BW_ERROR_CORRUPT) {
                error->status = BW_ERROR_NO_DAEMON;
            }
            return error != NULL ? error->status : BW_ERROR_NO_DAEMON;
        }
        bw_sleep_ns(INT64_C(2000000));
    }
    aeron->events_cursor =
            bw_load_acquire_i64(aeron->events + aeron->events_capacity + BW_AERON_BROADCAST_LATEST);
    aeron->client_id = bw_aeron_next_correlation_id(aeron);
    aeron->keepalive_ns = bw_now_ns();
    BW_STEP("connected");
    return BW_OK;
}

/* ---------------------------------------------------------------- commands */

/**
 * Writes one command: claim by moving the tail, mark the record as unfinished (negative length), fill
 * it, publish it (positive length). BW_AGAIN when the ring is full.
 */
static inline bw_status bw_aeron_command(
        bw_aeron *aeron, int32_t type, const uint8_t *body, int32_t length, bw_error *error) {
    const int64_t capacity = aeron->commands_capacity;
    uint8_t *ring = aeron->commands;
    int64_t *tail_word = (int64_t *)(ring + capacity + BW_AERON_RING_TAIL);
    const int64_t required = bw_align(length + BW_AERON_RECORD_HEADER, BW_AERON_RECORD_HEADER);
    if (required > capacity / 8) {
        return bw_fail(error, BW_ERROR_ARGUMENT, "command too long: bytes=%d", length);
    }
    int64_t tail;
    int64_t padding;
    do {
        tail = __atomic_load_n(tail_word, __ATOMIC_SEQ_CST);
        const int64_t head = bw_load_acquire_i64(ring + capacity + BW_AERON_RING_HEAD);
        const int64_t index = tail & (capacity - 1);
        if (tail < 0 || (tail & 7) != 0 || head < 0 || tail > INT64_MAX - 2 * capacity) {
            return bw_fail(error, BW_ERROR_CORRUPT, "command ring is damaged: directory=%s tail=%lld head=%lld",
                    aeron->directory, (long long)tail, (long long)head);
        }
        padding = required > capacity - index ? capacity - index : 0;
        if (tail - head + padding + required > capacity) {
            (void)bw_fail(error, BW_ERROR_STARVED, "command ring is full: directory=%s", aeron->directory);
            return BW_AGAIN;
        }
    } while (!__atomic_compare_exchange_n(
            tail_word, &tail, tail + padding + required, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    BW_STEP("claimed");
    int64_t index = tail & (capacity - 1);
    if (padding != 0) {
        bw_store_release_i32(ring + index, -(int32_t)padding);
        __atomic_thread_fence(__ATOMIC_RELEASE);
        bw_store_relaxed_i32(ring + index + 4, BW_AERON_RECORD_PADDING);
        bw_store_release_i32(ring + index, (int32_t)padding);
        index = 0;
    }
    const int32_t record_length = length + BW_AERON_RECORD_HEADER;
    bw_store_release_i32(ring + index, -record_length);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    BW_STEP("marked");
    memcpy(ring + index + BW_AERON_RECORD_HEADER, body, (size_t)length);
    bw_store_relaxed_i32(ring + index + 4, type);
    BW_STEP("filled");
    bw_store_release_i32(ring + index, record_length);
    BW_STEP("committed");
    return BW_OK;
}

/** A command of {client, correlation, extra…}; waits for room in the ring until `deadline_ns`. */
static inline bw_status bw_aeron_send(bw_aeron *aeron, int32_t type, int64_t correlation_id,
        const uint8_t *extra, int32_t extra_length, int64_t deadline_ns, bw_error *error) {
    uint8_t body[256];
    if (extra_length < 0 || (size_t)extra_length > sizeof body - 16) {
        return bw_fail(error, BW_ERROR_ARGUMENT, "command too long: bytes=%d", extra_length);
    }
    bw_put_i64(body, aeron->client_id);
    bw_put_i64(body + 8, correlation_id);
    if (extra_length > 0) {
        memcpy(body + 16, extra, (size_t)extra_length);
    }
    for (;;) {
        const bw_status status = bw_aeron_command(aeron, type, body, 16 + extra_length, error);
        if (status != BW_AGAIN) {
            return status;
        }
        const int64_t now_ns = bw_now_ns();
        const bw_status alive = bw_aeron_check_driver(aeron, now_ns, error);
        if (alive != BW_OK) {
            return alive;
        }
        if (now_ns >= deadline_ns) {
            return BW_ERROR_STARVED;
        }
        bw_sleep_ns(INT64_C(1000000));
    }
}

/** Tells the driver every 100 ms that this client lives. A full ring is no error here. */
static inline void bw_aeron_keepalive(bw_aeron *aeron, int64_t now_ns) {
    if (now_ns - aeron->keepalive_ns >= aeron->keepalive_interval_ns) {
        uint8_t body[16];
        bw_put_i64(body, aeron->client_id);
        bw_put_i64(body + 8, -1);
        (void)bw_aeron_command(aeron, BW_AERON_CLIENT_KEEPALIVE, body, 16, NULL);
        aeron->keepalive_ns = now_ns;
    }
}

/* ---------------------------------------------------------------- events */

/** Whether nothing of [cursor, …) was overwritten by the driver. */
static inline bool bw_aeron_not_lapped(const bw_aeron *aeron, int64_t cursor) {
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return cursor + aeron->events_capacity >
            bw_load_acquire_i64(aeron->events + aeron->events_capacity + BW_AERON_BROADCAST_TAIL_INTENT);
}

/** Copies the next event of any client into `aeron`; BW_AGAIN when there is none. */
static inline bw_status bw_aeron_receive(bw_aeron *aeron, bw_error *error) {
    const uint8_t *events = aeron->events;
    const int64_t capacity = aeron->events_capacity;
    for (;;) {
        const int64_t cursor = aeron->events_cursor;
        const int64_t tail = bw_load_acquire_i64(events + capacity + BW_AERON_BROADCAST_TAIL);
        if (cursor < 0 || (cursor & 7) != 0 || tail < 0) {
            return bw_fail(error, BW_ERROR_CORRUPT, "event buffer is damaged: directory=%s", aeron->directory);
        }
        if (tail <= cursor) {
            return BW_AGAIN;
        }
        const int64_t index = cursor & (capacity - 1);
        const int32_t length = bw_load_relaxed_i32(events + index);
        const int32_t type = bw_load_relaxed_i32(events + index + 4);
        const bool sound = length >= BW_AERON_RECORD_HEADER && length <= capacity - index;
        const bool fits = length - BW_AERON_RECORD_HEADER <= (int32_t)sizeof aeron->event;
        if (sound && fits && type != BW_AERON_RECORD_PADDING) {
            aeron->event_length = length - BW_AERON_RECORD_HEADER;
            aeron->event_type = type;
            memcpy(aeron->event, events + index + BW_AERON_RECORD_HEADER, (size_t)aeron->event_length);
        }
        if (!bw_aeron_not_lapped(aeron, cursor)) {
            return bw_fail(error, BW_ERROR_STARVED,
                    "answers of the media driver were overwritten unread: directory=%s; try again",
                    aeron->directory);
        }
        if (!sound) {
            return bw_fail(error, BW_ERROR_CORRUPT,
                    "event buffer is damaged: directory=%s offset=%lld length=%d", aeron->directory,
                    (long long)index, length);
        }
        aeron->events_cursor = cursor + bw_align(length, BW_AERON_RECORD_HEADER);
        if (type != BW_AERON_RECORD_PADDING && fits) {
            return BW_OK;
        }
    }
}

static inline void bw_aeron_log_close(bw_aeron_log *log) {
    if (log->base != NULL) {
        (void)munmap(log->base, log->length);
        (void)close(log->descriptor);
        log->base = NULL;
    }
}

/** Keeps what the driver says about images of the subscription. */
static inline void bw_aeron_note_image(bw_aeron *aeron) {
    /* available: publication 0, session 8, stream 12, subscription 16, … unavailable: 0, subscription 8 */
    bw_aeron_subscription *subscription = aeron->subscription;
    const bool available = aeron->event_type == BW_AERON_ON_AVAILABLE_IMAGE;
    if (subscription == NULL || aeron->event_length < 24 ||
            bw_get_i64(aeron->event + (available ? 16 : 8)) != subscription->registration_id) {
        return;
    }
    if (available) {
        if (aeron->event_length <= (int32_t)sizeof aeron->image_event) {
            memcpy(aeron->image_event, aeron->event, (size_t)aeron->event_length);
            aeron->image_event_length = aeron->event_length;
        }
        return;
    }
    /* Its position counter will be somebody else's: never store there again. */
    const int64_t image_id = bw_get_i64(aeron->event);
    if (subscription->position_counter != NULL && subscription->image_id == image_id) {
        subscription->position_counter = NULL;
        bw_aeron_log_close(&subscription->log);
    }
    if (aeron->image_event_length != 0 && bw_get_i64(aeron->image_event) == image_id) {
        aeron->image_event_length = 0;
    }
}

/** One round of waiting: events, heartbeat, keep-alive. BW_AGAIN when no event came. */
static inline bw_status bw_aeron_work(bw_aeron *aeron, bw_error *error) {
    const int64_t now_ns = bw_now_ns();
    if (aeron->stop != NULL && aeron->stop(aeron->stop_context)) {
        return bw_fail(error, BW_ERROR_INTERRUPTED, "stopped by the caller");
    }
    bw_aeron_keepalive(aeron, now_ns);
    const bw_status alive = bw_aeron_check_driver(aeron, now_ns, error);
    if (alive != BW_OK) {
        return alive;
    }
    const bw_status status = bw_aeron_receive(aeron, error);
    if (status != BW_OK) {
        return status;
    }
    if (aeron->event_type == BW_AERON_ON_CLIENT_TIMEOUT && aeron->event_length >= 8 &&
            bw_get_i64(aeron->event) == aeron->client_id) {
        return bw_fail(error, BW_ERROR_STARVED, "the media driver timed this client out: directory=%s; try again",
                aeron->directory);
    }
    if (aeron->event_type == BW_AERON_ON_AVAILABLE_IMAGE || aeron->event_type == BW_AERON_ON_UNAVAILABLE_IMAGE) {
        bw_aeron_note_image(aeron);
    }
    return BW_OK;
}

/** Waits a little: first by yielding the processor, then longer each round up to 1 ms. */
static inline void bw_aeron_idle(int *rounds) {
    const int shift = *rounds < 6 ? *rounds : 6;
    bw_sleep_ns((int64_t)16000 << shift);
    ++*rounds;
}

/** Fills `error` from an ON_ERROR event. */
static inline bw_status bw_aeron_driver_error(const bw_aeron *aeron, bw_error *error) {
    const int32_t code = bw_get_i32(aeron->event + 8);
    int32_t text_length = aeron->event_length >= 16 ? bw_get_i32(aeron->event + 12) : 0;
    if (text_length < 0 || text_length > aeron->event_length - 16) {
        text_length = 0;
    }
    (void)bw_fail(error, BW_ERROR_DRIVER, "media driver refused a command: code=%d text=%.*s", code,
            text_length, (const char *)(aeron->event + 16));
    if (error != NULL) {
        error->refused_code = code;
    }
    return BW_ERROR_DRIVER;
}

/** Waits until the command `correlation_id` is answered by an event of `type`. */
static inline bw_status bw_aeron_await(
        bw_aeron *aeron, int64_t correlation_id, int32_t type, int64_t deadline_ns, bw_error *error) {
    int rounds = 0;
    for (;;) {
        const bw_status status = bw_aeron_work(aeron, error);
        if (status == BW_OK) {
            if (aeron->event_type == BW_AERON_ON_ERROR && aeron->event_length >= 12 &&
                    bw_get_i64(aeron->event) == correlation_id) {
                return bw_aeron_driver_error(aeron, error);
            }
            if (aeron->event_type == type && aeron->event_length >= 8 &&
                    bw_get_i64(aeron->event) == correlation_id) {
                return BW_OK;
            }
        } else if (status != BW_AGAIN) {
            return status;
        } else if (bw_now_ns() >= deadline_ns) {
            return bw_fail(error, BW_ERROR_STARVED,
                    "no answer from the media driver: directory=%s event=0x%04X; try again",
                    aeron->directory, (unsigned)type);
        } else {
            bw_aeron_idle(&rounds);
        }
    }
}

/* ---------------------------------------------------------------- log buffers */

/**
 * Makes sure that [offset, offset + length) of a log has memory behind it: log files are sparse, and
 * touching a hole of a full tmpfs would be SIGBUS.
 */
static inline bw_status bw_aeron_log_reserve(
        const bw_aeron_log *log, int64_t offset, int64_t length, bw_error *error) {
    int result;
    do {
        result = fallocate(log->descriptor, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)length);
    } while (result != 0 && errno == EINTR);
    return result == 0 || errno == EOPNOTSUPP || errno == ENOSYS
            ? BW_OK
            : bw_fail_errno(error, "fallocate", "log buffer of the media driver", errno);
}

/** Reads and checks the meta data of a mapped log. */
static inline bw_status bw_aeron_log_check(bw_aeron_log *log, const char *path, bw_error *error) {
    log->meta = log->base + log->length - BW_AERON_LOG_META_LENGTH;
    log->term_length = bw_load_relaxed_i32(log->meta + BW_AERON_LOG_TERM_LENGTH);
    log->initial_term_id = bw_load_relaxed_i32(log->meta + BW_AERON_LOG_INITIAL_TERM_ID);
    log->mtu = bw_load_relaxed_i32(log->meta + BW_AERON_LOG_MTU);
    if (log->term_length < BW_AERON_TERM_MIN_LENGTH || log->term_length > BW_AERON_TERM_MAX_LENGTH ||
            !bw_is_power_of_two(log->term_length) || log->mtu <= BW_AERON_FRAME_HEADER ||
            log->mtu > log->term_length ||
            (int64_t)log->term_length * BW_AERON_PARTITIONS + BW_AERON_LOG_META_LENGTH >
                    (int64_t)log->length) {
        return bw_fail(error, BW_ERROR_CORRUPT, "log buffer is damaged: path=%s bytes=%lld termLength=%d mtu=%d",
                path, (long long)log->length, log->term_length, log->mtu);
    }
    log->shift = __builtin_ctz((unsigned)log->term_length);
    return BW_OK;
}

/**
 * Maps the log that the driver calls `name`. Only the last part of the name counts: the file is looked
 * for in this client's own view of the driver's directory.
 */
static inline bw_status bw_aeron_log_open(
        bw_aeron_log *log, const bw_aeron *aeron, const uint8_t *name, int32_t name_length, bw_error *error) {
    int32_t begin = name_length;
    while (begin > 0 && name[begin - 1] != '/') {
        --begin;
    }
    char directory[BW_PATH_CAPACITY];
    char path[BW_PATH_CAPACITY];
    if (begin == name_length || !bw_path_join(directory, sizeof directory, aeron->directory, "publications") ||
            !bw_path_join_bytes(path, sizeof path, directory, (const char *)(name + begin),
                    (size_t)(name_length - begin))) {
        return bw_fail(error, BW_ERROR_CORRUPT, "log buffer has no usable name: directory=%s", aeron->directory);
    }
    log->base = NULL;
    log->descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (log->descriptor < 0) {
        return bw_fail_errno(error, "open", path, errno);
    }
    struct stat status;
    bw_status result = BW_OK;
    if (fstat(log->descriptor, &status) != 0) {
        result = bw_fail_errno(error, "fstat", path, errno);
    } else if (!S_ISREG(status.st_mode) || status.st_size < BW_AERON_LOG_META_LENGTH ||
            (status.st_size & (BW_AERON_LOG_META_LENGTH - 1)) != 0) {
        result = bw_fail(error, BW_ERROR_CORRUPT, "log buffer is damaged: path=%s bytes=%lld", path,
                (long long)status.st_size);
    } else {
        log->length = (size_t)status.st_size;
        result = bw_aeron_log_reserve(log, status.st_size - BW_AERON_LOG_META_LENGTH,
                BW_AERON_LOG_META_LENGTH, error);
    }
    if (result == BW_OK) {
        void *base = mmap(NULL, log->length, PROT_READ | PROT_WRITE, MAP_SHARED, log->descriptor, 0);
        if (base == MAP_FAILED) {
            result = bw_fail_errno(error, "mmap", path, errno);
        } else {
            log->base = (uint8_t *)base;
            result = bw_aeron_log_check(log, path, error);
        }
    }
    if (result != BW_OK) {
        if (log->base != NULL) {
            bw_aeron_log_close(log);
        } else {
            (void)close(log->descriptor);
        }
    }
    return result;
}

/** The counter `id`, or null when there is no such counter. */
static inline uint8_t *bw_aeron_counter(const bw_aeron *aeron, int32_t id) {
    return id >= 0 && id < aeron->counters_count ? aeron->counters + (int64_t)id * BW_AERON_COUNTER_LENGTH
                                                 : NULL;
}

/* ---------------------------------------------------------------- publication */

/** Adds an exclusive publication on aeron:ipc. */
static inline bw_status bw_aeron_add_publication(bw_aeron *aeron, bw_aeron_publication *publication,
        int32_t stream_id, int64_t deadline_ns, bw_error *error) {
    memset(publication, 0, sizeof *publication);
    uint8_t extra[64];
    const int32_t channel_length = (int32_t)strlen(BW_AERON_CHANNEL);
    bw_put_i32(extra, stream_id);
    bw_put_i32(extra + 4, channel_length);
    memcpy(extra + 8, BW_AERON_CHANNEL, (size_t)channel_length);
    const int64_t correlation_id = bw_aeron_next_correlation_id(aeron);
    bw_status status = bw_aeron_send(aeron, BW_AERON_ADD_EXCLUSIVE_PUBLICATION, correlation_id, extra,
            8 + channel_length, deadline_ns, error);
    if (status == BW_OK) {
        status = bw_aeron_await(
                aeron, correlation_id, BW_AERON_ON_EXCLUSIVE_PUBLICATION_READY, deadline_ns, error);
    }
    if (status != BW_OK) {
        return status;
    }
    /* correlation 0, registration 8, session 16, stream 20, limit counter 24, channel status 28, name 32 */
    const int32_t name_length = aeron->event_length >= 36 ? bw_get_i32(aeron->event + 32) : -1;
    publication->limit = aeron->event_length >= 36 ? bw_aeron_counter(aeron, bw_get_i32(aeron->event + 24)) : NULL;
    if (name_length < 1 || name_length > aeron->event_length - 36 || publication->limit == NULL) {
        return bw_fail(error, BW_ERROR_CORRUPT, "answer of the media driver is damaged: directory=%s",
                aeron->directory);
    }
    publication->registration_id = bw_get_i64(aeron->event + 8);
    publication->session_id = bw_get_i32(aeron->event + 16);
    publication->stream_id = bw_get_i32(aeron->event + 20);
    status = bw_aeron_log_open(&publication->log, aeron, aeron->event + 36, name_length, error);
    BW_STEP("published");
    return status;
}

/** Writes the header of a frame that is not complete yet (negative length). */
static inline void bw_aeron_frame_begin(const bw_aeron_publication *publication, uint8_t *frame,
        int32_t frame_length, int32_t term_offset, int32_t term_id, int type) {
    bw_store_release_i32(frame, -frame_length);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    frame[4] = 0;
    frame[5] = BW_AERON_FRAME_WHOLE;
    frame[6] = (uint8_t)type;
    frame[7] = 0;
    bw_put_i32(frame + 8, term_offset);
    bw_put_i32(frame + 12, publication->session_id);
    bw_put_i32(frame + 16, publication->stream_id);
    bw_put_i32(frame + 20, term_id);
    bw_put_i64(frame + 24, 0);
}

/** Pads the rest of the term and moves the publication to the next one. */
static inline bw_status bw_aeron_rotate(const bw_aeron_publication *publication, int32_t term_count,
        int32_t term_id, int32_t term_offset, bw_error *error) {
    const bw_aeron_log *log = &publication->log;
    const int64_t term = (int64_t)(term_count % BW_AERON_PARTITIONS) * log->term_length;
    if (term_offset < log->term_length) {
        const bw_status status = bw_aeron_log_reserve(log, term + term_offset, BW_AERON_FRAME_HEADER, error);
        if (status != BW_OK) {
            return status;
        }
        uint8_t *frame = log->base + term + term_offset;
        const int32_t padding = log->term_length - term_offset;
        bw_aeron_frame_begin(publication, frame, padding, term_offset, term_id, BW_AERON_FRAME_PADDING);
        bw_store_release_i32(frame, padding);
    }
    const int32_t next_count = term_count + 1;
    const int64_t next_tail = (int64_t)((uint64_t)((uint32_t)log->initial_term_id + (uint32_t)next_count) << 32);
    bw_store_release_i64(log->meta + 8 * (next_count % BW_AERON_PARTITIONS), next_tail);
    bw_store_release_i32(log->meta + BW_AERON_LOG_ACTIVE_TERM_COUNT, next_count);
    return BW_OK;
}

/**
 * Offers one message of at most one MTU. BW_AGAIN: no subscriber yet, or the window is full.
 */
static inline bw_status bw_aeron_offer(
        const bw_aeron_publication *publication, const uint8_t *message, int32_t length, bw_error *error) {
    const bw_aeron_log *log = &publication->log;
    if (length < 0 || length > log->mtu - BW_AERON_FRAME_HEADER) {
        return bw_fail(error, BW_ERROR_ARGUMENT, "message exceeds one MTU: bytes=%d mtu=%d", length, log->mtu);
    }
    const int32_t frame_length = length + BW_AERON_FRAME_HEADER;
    const int32_t aligned_length = (int32_t)bw_align(frame_length, BW_AERON_FRAME_ALIGNMENT);
    for (int attempt = 0; attempt < 2; ++attempt) {
        const int32_t term_count = bw_load_acquire_i32(log->meta + BW_AERON_LOG_ACTIVE_TERM_COUNT);
        if (term_count < 0 || term_count == INT32_MAX) {
            return bw_fail(error, BW_ERROR_CORRUPT, "log buffer is damaged: termCount=%d", term_count);
        }
        uint8_t *tail_word = log->meta + 8 * (term_count % BW_AERON_PARTITIONS);
        const int64_t tail = bw_load_acquire_i64(tail_word);
        const int32_t term_id = (int32_t)(tail >> 32);
        const int64_t raw_offset = tail & INT64_C(0xFFFFFFFF);
        const int32_t term_offset = raw_offset < log->term_length ? (int32_t)raw_offset : log->term_length;
        if ((uint32_t)term_id - (uint32_t)log->initial_term_id != (uint32_t)term_count ||
                (term_offset & (BW_AERON_FRAME_ALIGNMENT - 1)) != 0) {
            return bw_fail(error, BW_ERROR_CORRUPT, "log buffer is damaged: tail=0x%llx termCount=%d",
                    (unsigned long long)tail, term_count);
        }
        const int64_t position = ((int64_t)term_count << log->shift) + term_offset;
        if (position >= bw_load_acquire_i64(publication->limit)) {
            (void)bw_fail(error, BW_ERROR_STARVED, "nobody reads the stream: streamId=%d connected=%d",
                    publication->stream_id, bw_load_acquire_i32(log->meta + BW_AERON_LOG_IS_CONNECTED));
            return BW_AGAIN;
        }
        if (aligned_length > log->term_length - term_offset) {
            const bw_status status = bw_aeron_rotate(publication, term_count, term_id, term_offset, error);
            if (status != BW_OK) {
                return status;
            }
            continue;
        }
        const int64_t offset = (int64_t)(term_count % BW_AERON_PARTITIONS) * log->term_length + term_offset;
        const bw_status reserved = bw_aeron_log_reserve(log, offset, aligned_length, error);
        if (reserved != BW_OK) {
            return reserved;
        }
        bw_store_release_i64(tail_word, tail - raw_offset + term_offset + aligned_length);
        BW_STEP("tail");
        uint8_t *frame = log->base + offset;
        bw_aeron_frame_begin(publication, frame, frame_length, term_offset, term_id, BW_AERON_FRAME_DATA);
        BW_STEP("frame");
        memcpy(frame + BW_AERON_FRAME_HEADER, message, (size_t)length);
        bw_store_release_i32(frame, frame_length);
        BW_STEP("offered");
        return BW_OK;
    }
    (void)bw_fail(error, BW_ERROR_STARVED, "no room in the log: streamId=%d", publication->stream_id);
    return BW_AGAIN;
}

/** Offers until it is taken. */
static inline bw_status bw_aeron_offer_until(bw_aeron *aeron, const bw_aeron_publication *publication,
        const uint8_t *message, int32_t length, int64_t deadline_ns, bw_error *error) {
    int rounds = 0;
    for (;;) {
        const bw_status status = bw_aeron_offer(publication, message, length, error);
        if (status != BW_AGAIN) {
            return status;
        }
        if (bw_now_ns() >= deadline_ns) {
            return BW_ERROR_STARVED;
        }
        const bw_status work = bw_aeron_work(aeron, error);
        if (work == BW_AGAIN) {
            bw_aeron_idle(&rounds);
        } else if (work != BW_OK) {
            return work;
        }
    }
}

/** Removes the publication from the driver and unmaps it. What was offered is still delivered. */
static inline bw_status bw_aeron_remove_publication(
        bw_aeron *aeron, bw_aeron_publication *publication, int64_t deadline_ns, bw_error *error) {
    bw_aeron_log_close(&publication->log);
    uint8_t extra[16];
    bw_put_i64(extra, publication->registration_id);
    bw_put_i64(extra + 8, 0);
    const int64_t correlation_id = bw_aeron_next_correlation_id(aeron);
    const bw_status status = bw_aeron_send(
            aeron, BW_AERON_REMOVE_PUBLICATION, correlation_id, extra, 16, deadline_ns, error);
    return status != BW_OK ? status
                           : bw_aeron_await(aeron, correlation_id, BW_AERON_ON_OPERATION_SUCCEEDED,
                                     deadline_ns, error);
}

/* ---------------------------------------------------------------- subscription */

/** Adds a subscription on aeron:ipc. */
static inline bw_status bw_aeron_add_subscription(bw_aeron *aeron, bw_aeron_subscription *subscription,
        int32_t stream_id, int64_t deadline_ns, bw_error *error) {
    memset(subscription, 0, sizeof *subscription);
    uint8_t extra[64];
    const int32_t channel_length = (int32_t)strlen(BW_AERON_CHANNEL);
    bw_put_i64(extra, -1);
    bw_put_i32(extra + 8, stream_id);
    bw_put_i32(extra + 12, channel_length);
    memcpy(extra + 16, BW_AERON_CHANNEL, (size_t)channel_length);
    subscription->stream_id = stream_id;
    subscription->registration_id = bw_aeron_next_correlation_id(aeron);
    aeron->subscription = subscription;
    aeron->image_event_length = 0;
    bw_status status = bw_aeron_send(aeron, BW_AERON_ADD_SUBSCRIPTION, subscription->registration_id, extra,
            16 + channel_length, deadline_ns, error);
    if (status == BW_OK) {
        status = bw_aeron_await(aeron, subscription->registration_id, BW_AERON_ON_SUBSCRIPTION_READY,
                deadline_ns, error);
    }
    BW_STEP("subscribed");
    return status;
}

/** Takes the image that was announced, instead of the one before. */
static inline bw_status bw_aeron_take_image(bw_aeron *aeron, bw_error *error) {
    /* publication 0, session 8, stream 12, subscription 16, position counter 24, name 28, source */
    bw_aeron_subscription *subscription = aeron->subscription;
    const uint8_t *event = aeron->image_event;
    const int32_t length = aeron->image_event_length;
    aeron->image_event_length = 0;
    const int32_t name_length = length >= 32 ? bw_get_i32(event + 28) : -1;
    uint8_t *counter = length >= 32 ? bw_aeron_counter(aeron, bw_get_i32(event + 24)) : NULL;
    if (name_length < 1 || name_length > length - 32 || counter == NULL) {
        return bw_fail(error, BW_ERROR_CORRUPT, "answer of the media driver is damaged: directory=%s",
                aeron->directory);
    }
    subscription->position_counter = NULL;
    bw_aeron_log_close(&subscription->log);
    const bw_status status = bw_aeron_log_open(&subscription->log, aeron, event + 32, name_length, error);
    if (status == BW_OK) {
        subscription->image_id = bw_get_i64(event);
        subscription->position_counter = counter;
        subscription->position = bw_load_acquire_i64(counter);
    }
    return status;
}

/** Copies the next whole message of the image; BW_AGAIN when there is none. */
static inline bw_status bw_aeron_poll_image(bw_aeron_subscription *subscription, uint8_t *message,
        int32_t capacity, int32_t *length, bw_error *error) {
    const bw_aeron_log *log = &subscription->log;
    for (int frames = 0; frames < BW_AERON_PARTITIONS; ++frames) {
        const int64_t position = subscription->position;
        const int32_t term_offset = (int32_t)(position & (log->term_length - 1));
        const int64_t term = (position >> log->shift) % BW_AERON_PARTITIONS * log->term_length;
        if (position < 0 || (position & (BW_AERON_FRAME_ALIGNMENT - 1)) != 0) {
            return bw_fail(error, BW_ERROR_CORRUPT, "subscriber position is damaged: position=%lld",
                    (long long)position);
        }
        const bw_status reserved = bw_aeron_log_reserve(log, term + term_offset, BW_AERON_FRAME_HEADER, error);
        if (reserved != BW_OK) {
            return reserved;
        }
        const uint8_t *frame = log->base + term + term_offset;
        const int32_t frame_length = bw_load_acquire_i32(frame);
        if (frame_length <= 0) {
            return BW_AGAIN;
        }
        if (frame_length < BW_AERON_FRAME_HEADER || frame_length > log->term_length - term_offset) {
            return bw_fail(error, BW_ERROR_CORRUPT, "frame is damaged: position=%lld length=%d",
                    (long long)position, frame_length);
        }
        const int64_t next = position + bw_align(frame_length, BW_AERON_FRAME_ALIGNMENT);
        const int type = frame[6] | frame[7] << 8;
        if (type == BW_AERON_FRAME_PADDING) {
            subscription->position = next;
            bw_store_release_i64(subscription->position_counter, next);
            continue;
        }
        *length = frame_length - BW_AERON_FRAME_HEADER;
        if (type != BW_AERON_FRAME_DATA || (frame[5] & BW_AERON_FRAME_WHOLE) != BW_AERON_FRAME_WHOLE ||
                *length > capacity) {
            return bw_fail(error, BW_ERROR_CORRUPT, "message is not one whole frame: type=%d flags=0x%02X bytes=%d",
                    type, frame[5], *length);
        }
        memcpy(message, frame + BW_AERON_FRAME_HEADER, (size_t)*length);
        subscription->position = next;
        bw_store_release_i64(subscription->position_counter, next);
        return BW_OK;
    }
    return BW_AGAIN;
}

/** Waits for one message of at most `capacity` bytes on the newest image of the subscription. */
static inline bw_status bw_aeron_poll_until(bw_aeron *aeron, bw_aeron_subscription *subscription,
        uint8_t *message, int32_t capacity, int32_t *length, int64_t deadline_ns, bw_error *error) {
    int rounds = 0;
    for (;;) {
        const bw_status work = bw_aeron_work(aeron, error);
        if (work == BW_OK) {
            continue; /* all events first: one may take the image away */
        }
        if (work != BW_AGAIN) {
            return work;
        }
        bw_status status = BW_AGAIN;
        if (subscription->position_counter != NULL) {
            status = bw_aeron_poll_image(subscription, message, capacity, length, error);
        }
        if (status == BW_AGAIN && aeron->image_event_length != 0) {
            status = bw_aeron_take_image(aeron, error);
            if (status == BW_OK) {
                BW_STEP("image");
                continue;
            }
        }
        if (status != BW_AGAIN) {
            return status;
        }
        if (bw_now_ns() >= deadline_ns) {
            return bw_fail(error, BW_ERROR_STARVED, "no answer from the daemon: streamId=%d image=%s; try again",
                    subscription->stream_id, subscription->position_counter != NULL ? "yes" : "no");
        }
        bw_aeron_idle(&rounds);
    }
}

/** Removes the subscription from the driver and unmaps its image. */
static inline bw_status bw_aeron_remove_subscription(
        bw_aeron *aeron, bw_aeron_subscription *subscription, int64_t deadline_ns, bw_error *error) {
    bw_aeron_log_close(&subscription->log);
    subscription->position_counter = NULL;
    aeron->subscription = NULL;
    uint8_t extra[8];
    bw_put_i64(extra, subscription->registration_id);
    const int64_t correlation_id = bw_aeron_next_correlation_id(aeron);
    const bw_status status = bw_aeron_send(
            aeron, BW_AERON_REMOVE_SUBSCRIPTION, correlation_id, extra, 8, deadline_ns, error);
    return status != BW_OK ? status
                           : bw_aeron_await(aeron, correlation_id, BW_AERON_ON_OPERATION_SUCCEEDED,
                                     deadline_ns, error);
}

/** Says goodbye, which ends all of this client's publications and subscriptions, and unmaps cnc.dat. */
static inline void bw_aeron_close(bw_aeron *aeron) {
    if (aeron->cnc != NULL) {
        uint8_t body[16];
        bw_put_i64(body, aeron->client_id);
        bw_put_i64(body + 8, -1);
        (void)bw_aeron_command(aeron, BW_AERON_CLIENT_CLOSE, body, 16, NULL);
        bw_aeron_unmap(aeron);
        BW_STEP("closed");
    }
}

#endif
