/*
 * A connection to an Aeron 1.51.0 media driver: its cnc.dat, commands to it, events from it. The layouts are
 * facts about that version; batchweave_aeron.h is what to include.
 *
 *   cnc.dat      +0      meta data (128): version, buffer lengths, liveness timeout, start, pid
 *                +128    to-driver ring: many writers, one reader; trailer of six 128-byte fields
 *                        followed by to-clients broadcast (trailer 128), counter labels (512 each),
 *                        counter values (128 each), error log
 *   record       length i32 (negative while it is being written), type i32, body, padded to 8
 */
#ifndef BATCHWEAVE_AERON_DRIVER_H
#define BATCHWEAVE_AERON_DRIVER_H

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
    /** Told that a command was sent and is waited for: wakes a driver that sleeps. May be null. */
    void (*call)(void *context);
    void *call_context;
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
        /* A driver makes it empty; one that was killed then left it so, until the next. */
        (void)bw_fail(error, BW_ERROR_NO_DAEMON, "cnc.dat is too short: path=%s bytes=%lld", path,
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
            if (error != NULL) {
                error->status = BW_ERROR_NO_DAEMON;
            }
            return BW_ERROR_NO_DAEMON;
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
    if (aeron->call != NULL) {
        aeron->call(aeron->call_context);
    }
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
        }
        if (bw_now_ns() >= deadline_ns) {
            return bw_fail(error, BW_ERROR_STARVED,
                    "no answer from the media driver: directory=%s event=0x%04X; try again",
                    aeron->directory, (unsigned)type);
        }
        if (status == BW_AGAIN) {
            bw_aeron_idle(&rounds);
        }
    }
}

#endif
