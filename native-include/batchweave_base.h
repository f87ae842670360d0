/*
 * BatchWeave C client, ground floor: status codes, the error record, clock, checked loads and stores.
 *
 * Everything in these headers is static inline, needs no library beside libc, and compiles as C11 and
 * as C++17. Include one of them before any system header, or compile with -D_GNU_SOURCE.
 */
#ifndef BATCHWEAVE_BASE_H
#define BATCHWEAVE_BASE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef __USE_GNU
#error "include the batchweave headers before any system header, or compile with -D_GNU_SOURCE"
#endif

#if !defined(__linux__) || __SIZEOF_POINTER__ != 8 || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "batchweave needs 64-bit little-endian Linux"
#endif

/** Longest path these headers handle, with its terminating zero. */
#define BW_PATH_CAPACITY 512

/** No step: unknown, or not applicable. */
#define BW_NO_STEP INT64_C(-1)

/**
 * What a call says. Zero is success, positive values are ordinary answers, negative ones are errors;
 * every error fills the bw_error that was passed in. A new code never changes the sign of its kind.
 */
typedef enum bw_status {
    /** Done. */
    BW_OK = 0,
    /** The stream is sealed and every step of it was handed out. */
    BW_END_OF_STREAM = 1,
    /** Nothing there yet; only from calls that do not wait. */
    BW_AGAIN = 2,

    /** An argument or option is wrong; nothing was done. Correct the call. */
    BW_ERROR_ARGUMENT = -1,
    /** A system call failed; system_errno says how. ENOSPC: the directory's file system is full, make room. */
    BW_ERROR_SYSTEM = -2,
    /** No daemon serves this directory. Start one, or name the right directory. */
    BW_ERROR_NO_DAEMON = -3,
    /** Daemon and client speak different versions of the ABI or of Aeron. Upgrade the older one. */
    BW_ERROR_VERSION = -4,
    /** The daemon refused the attachment; refused_code is its reason. */
    BW_ERROR_REFUSED = -5,
    /** The daemon died and none took its place before the deadline. */
    BW_ERROR_DAEMON_LOST = -6,
    /** The deadline passed with a living daemon; the text quotes its last trouble. Calling again is fine. */
    BW_ERROR_DEADLINE = -7,
    /** This step can never be served (permanent cause). Attach again to try once more. */
    BW_ERROR_STEP_FAILED = -8,
    /** The ring is full of steps this rank has not released. Release some. */
    BW_ERROR_RING_HELD = -9,
    /** A newer launch of the same group took over. Do not restart this one. */
    BW_ERROR_SUPERSEDED = -10,
    /** Bytes in shared memory are not what they must be: a checksum, a bound, a magic number. */
    BW_ERROR_CORRUPT = -11,
    /** The client was inherited by fork() and is inert here. Attach in this process. */
    BW_ERROR_FORKED = -12,
    /** Edits of a view could not be dropped, so its step was not released. */
    BW_ERROR_DIRTY = -13,
    /** The caller's `interrupted` callback asked to stop waiting. */
    BW_ERROR_INTERRUPTED = -14,
    /** The client is closed, or the lease was released before. */
    BW_ERROR_CLOSED = -15,
    /** The media driver answered a command with an error; refused_code is Aeron's error code. */
    BW_ERROR_DRIVER = -16,
    /** The media driver forgot this client, or its answers were overwritten unread. Try again. */
    BW_ERROR_STARVED = -17
} bw_status;

/** Name of a status, for messages and logs. */
static inline const char *bw_status_name(bw_status status) {
    switch (status) {
        case BW_OK: return "OK";
        case BW_END_OF_STREAM: return "END_OF_STREAM";
        case BW_AGAIN: return "AGAIN";
        case BW_ERROR_ARGUMENT: return "ARGUMENT";
        case BW_ERROR_SYSTEM: return "SYSTEM";
        case BW_ERROR_NO_DAEMON: return "NO_DAEMON";
        case BW_ERROR_VERSION: return "VERSION";
        case BW_ERROR_REFUSED: return "REFUSED";
        case BW_ERROR_DAEMON_LOST: return "DAEMON_LOST";
        case BW_ERROR_DEADLINE: return "DEADLINE";
        case BW_ERROR_STEP_FAILED: return "STEP_FAILED";
        case BW_ERROR_RING_HELD: return "RING_HELD";
        case BW_ERROR_SUPERSEDED: return "SUPERSEDED";
        case BW_ERROR_CORRUPT: return "CORRUPT";
        case BW_ERROR_FORKED: return "FORKED";
        case BW_ERROR_DIRTY: return "DIRTY";
        case BW_ERROR_INTERRUPTED: return "INTERRUPTED";
        case BW_ERROR_CLOSED: return "CLOSED";
        case BW_ERROR_DRIVER: return "DRIVER";
        case BW_ERROR_STARVED: return "STARVED";
    }
    return "UNKNOWN";
}

/** What went wrong: for programs the codes and numbers, for people the text. */
typedef struct bw_error {
    bw_status status;
    /** errno of the failed system call, or 0. */
    int system_errno;
    /** Reason of Refused, of a FAILED step, or Aeron's error code; 0 where none applies. */
    int refused_code;
    /** The step this is about, or BW_NO_STEP. */
    int64_t step;
    /** Bytes the ring lacked (RING_HELD and refusals for space), else 0. */
    int64_t bytes;
    /** How often `object` was asked for; 0 where that is not known. */
    int32_t attempts;
    /** The object of the store this is about; empty where none is known. */
    char object[256];
    /** What daemon or store said last about it; empty where nothing was said. */
    char told[512];
    /** One line: what, name=value …, remedy. */
    char text[768];
} bw_error;

/** Makes `error` say nothing. */
static inline void bw_error_clear(bw_error *error) {
    if (error != NULL) {
        error->status = BW_OK;
        error->system_errno = 0;
        error->refused_code = 0;
        error->step = BW_NO_STEP;
        error->bytes = 0;
        error->attempts = 0;
        error->object[0] = '\0';
        error->told[0] = '\0';
        error->text[0] = '\0';
    }
}

/** Fills `error` (which may be null) and returns `status`. */
__attribute__((format(printf, 3, 4))) static inline bw_status bw_fail(
        bw_error *error, bw_status status, const char *format, ...) {
    if (error != NULL) {
        bw_error_clear(error);
        error->status = status;
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return status;
}

/** Fills `error` with a failed system call on `object` and returns BW_ERROR_SYSTEM. */
static inline bw_status bw_fail_errno(bw_error *error, const char *call, const char *object, int number) {
    (void)bw_fail(error, BW_ERROR_SYSTEM, "%s failed: object=%s errno=%d (%s)", call, object, number,
            strerror(number));
    if (error != NULL) {
        error->system_errno = number;
    }
    return BW_ERROR_SYSTEM;
}

/** Appends to the text of `error`; too long is cut. */
__attribute__((format(printf, 2, 3))) static inline void bw_error_append(
        bw_error *error, const char *format, ...) {
    if (error != NULL) {
        const size_t used = strlen(error->text);
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(error->text + used, sizeof error->text - used, format, arguments);
        va_end(arguments);
    }
}

/** Finds ` name=` in `text` and copies what follows it up to a space; false when it is not there. */
static inline bool bw_fact(const char *text, const char *name, char *value, size_t capacity) {
    const size_t length = strlen(name);
    for (const char *at = strstr(text, name); at != NULL; at = strstr(at + 1, name)) {
        if ((at == text || at[-1] == ' ') && at[length] == '=') {
            size_t used = 0;
            for (at += length + 1; used + 1 < capacity && *at != '\0' && *at != ' '; ++at) {
                value[used++] = *at;
            }
            value[used] = '\0';
            return true;
        }
    }
    return false;
}

/** Adds to `error` what the daemon said of its trouble: the text, and the object and attempts that it names. */
static inline void bw_error_told(bw_error *error, const char *told) {
    if (error != NULL) {
        (void)snprintf(error->told, sizeof error->told, "%s", told);
        char attempts[16];
        if (bw_fact(told, "attempts", attempts, sizeof attempts)) {
            error->attempts = (int32_t)strtol(attempts, NULL, 10);
        }
        (void)bw_fact(told, "key", error->object, sizeof error->object);
    }
}

/** The monotonic clock, in nanoseconds. All deadlines of these headers are readings of it. */
static inline int64_t bw_now_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/** `timeout_ns` from now; negative means never (about 292 years). */
static inline int64_t bw_deadline_ns(int64_t timeout_ns) {
    const int64_t now_ns = bw_now_ns();
    return timeout_ns < 0 || timeout_ns > INT64_MAX - now_ns ? INT64_MAX : now_ns + timeout_ns;
}

/** Sleeps for `duration_ns`, less when a signal arrives. */
static inline void bw_sleep_ns(int64_t duration_ns) {
    struct timespec duration;
    duration.tv_sec = (time_t)(duration_ns / INT64_C(1000000000));
    duration.tv_nsec = (long)(duration_ns % INT64_C(1000000000));
    (void)nanosleep(&duration, NULL);
}

/** Tells the processor that this is a spin loop. */
static inline void bw_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield" ::: "memory");
#endif
}

/* Shared words. `base + offset` must have been checked against the mapping by the caller. */

static inline int32_t bw_load_acquire_i32(const void *address) {
    return __atomic_load_n((const int32_t *)address, __ATOMIC_ACQUIRE);
}

static inline int64_t bw_load_acquire_i64(const void *address) {
    return __atomic_load_n((const int64_t *)address, __ATOMIC_ACQUIRE);
}

static inline int32_t bw_load_relaxed_i32(const void *address) {
    return __atomic_load_n((const int32_t *)address, __ATOMIC_RELAXED);
}

static inline int64_t bw_load_relaxed_i64(const void *address) {
    return __atomic_load_n((const int64_t *)address, __ATOMIC_RELAXED);
}

static inline void bw_store_release_i32(void *address, int32_t value) {
    __atomic_store_n((int32_t *)address, value, __ATOMIC_RELEASE);
}

static inline void bw_store_release_i64(void *address, int64_t value) {
    __atomic_store_n((int64_t *)address, value, __ATOMIC_RELEASE);
}

static inline void bw_store_relaxed_i32(void *address, int32_t value) {
    __atomic_store_n((int32_t *)address, value, __ATOMIC_RELAXED);
}

static inline void bw_store_relaxed_i64(void *address, int64_t value) {
    __atomic_store_n((int64_t *)address, value, __ATOMIC_RELAXED);
}

static inline bool bw_is_power_of_two(int64_t value) {
    return value > 0 && (value & (value - 1)) == 0;
}

static inline int64_t bw_align(int64_t value, int64_t alignment) {
    return (value + alignment - 1) & ~(alignment - 1);
}

/** `directory/name` into `path`, with `length` bytes of name; false when it does not fit. */
static inline bool bw_path_join_bytes(
        char *path, size_t capacity, const char *directory, const char *name, size_t length) {
    const size_t used = strlen(directory);
    if (used >= capacity || length >= capacity - used - 1) {
        return false;
    }
    memcpy(path, directory, used);
    path[used] = '/';
    memcpy(path + used + 1, name, length);
    path[used + 1 + length] = '\0';
    return true;
}

/** `directory/name` into `path`; false when it does not fit. */
static inline bool bw_path_join(char *path, size_t capacity, const char *directory, const char *name) {
    return bw_path_join_bytes(path, capacity, directory, name, strlen(name));
}

#endif
