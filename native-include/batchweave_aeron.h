/*
 * The part of an Aeron 1.51.0 IPC client that one attach needs: connect to a media driver through its
 * cnc.dat, add a subscription and an exclusive publication on aeron:ipc, offer one message, poll one
 * answer, close. No thread, no allocation, no callback.
 *
 *   *.logbuffer  three terms, then 4096 bytes of meta data at the end of the file
 *   frame        length i32 (negative while it is being written), version, flags, type, term offset, session,
 *                stream, term id, reserved (32), body, padded to 32
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

#include "batchweave_aeron_driver.h"

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
        if (work == BW_OK && bw_now_ns() < deadline_ns) {
            continue; /* all events first: one may take the image away */
        }
        if (work == BW_OK) {
            return bw_fail(error, BW_ERROR_STARVED, "no answer from the daemon: streamId=%d; try again",
                    subscription->stream_id);
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
