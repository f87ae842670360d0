/*
 * What a rank finds in the daemon's directory and makes there: the daemon and its lock, the rank's own reader
 * file, the files that Welcome names, all checked and mapped. README.md beside this file is the protocol.
 */
#ifndef BATCHWEAVE_NODE_H
#define BATCHWEAVE_NODE_H

#include "batchweave_base.h"

#include "batchweave_abi.h"
#include "batchweave_aeron.h"
#include "batchweave_handshake.h"
#include "batchweave_types.h"
#include "batchweave_views.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>

#ifndef F_OFD_GETLK
#define F_OFD_GETLK 36
#define F_OFD_SETLK 37
#endif

/** Longest wait between two looks at the state word, the daemon's lock and the caller's wish. */
#define BW_LOOK_NS INT64_C(100000000)

/* ---------------------------------------------------------------- the caller */

/** Whether this client was inherited by fork(). */
static inline bool bw_is_inherited(const bw_client *client) {
    if (client->process != 0) {
        return client->process != (int64_t)getpid();
    }
    return __atomic_load_n(client->guard, __ATOMIC_RELAXED) != 1u;
}

/** Whether the caller asked to stop; it is asked at most every 20 ms. */
static inline bool bw_stopped(void *context) {
    bw_client *client = (bw_client *)context;
    if (client->options.interrupted == NULL) {
        return false;
    }
    const int64_t now_ns = bw_now_ns();
    if (now_ns - client->asked_ns < INT64_C(20000000)) {
        return false;
    }
    client->asked_ns = now_ns;
    return client->options.interrupted(client->options.context);
}

/** Adds to an error where it happened: stream, rank, step. Returns its status. */
static inline bw_status bw_fail_where(const bw_client *client, bw_error *error, bw_status status) {
    if (error != NULL && (int)status < 0) {
        if (error->step == BW_NO_STEP) {
            error->step = client->next_step;
        }
        bw_error_append(error, " [stream=%s group=%s session=%s rank=%d dp=%u cp=%u step=%lld]", client->stream,
                client->group, client->session, client->options.rank, client->options.dp, client->options.cp,
                (long long)error->step);
    }
    return status;
}

/* ---------------------------------------------------------------- futex */

/** Waits while `*word` is `value`, at most `timeout_ns`; returns early for any reason. */
static inline void bw_futex_wait(const uint32_t *word, uint32_t value, int64_t timeout_ns) {
    struct timespec timeout;
    timeout.tv_sec = (time_t)(timeout_ns / INT64_C(1000000000));
    timeout.tv_nsec = (long)(timeout_ns % INT64_C(1000000000));
    (void)syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, NULL, 0);
}

static inline void bw_futex_wake_all(uint32_t *word) {
    (void)syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/** Tells the daemon that something was released, or that somebody talks. SYNC POINT: doorbell */
static inline void bw_ring_doorbell(bw_doorbell *doorbell) {
    (void)bw_add_release_u32(&doorbell->word, 1u);
    bw_futex_wake_all(&doorbell->word);
}

/* ---------------------------------------------------------------- the daemon */

/** Whether a daemon holds daemon.lock. It is probed, never taken. */
static inline bool bw_daemon_lives(bw_client *client) {
    if (client->daemon_lock < 0) {
        char path[BW_PATH_CAPACITY];
        if (!bw_path_join(path, sizeof path, client->directory, BW_DAEMON_LOCK_NAME)) {
            return false;
        }
        client->daemon_lock = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (client->daemon_lock < 0) {
            return false;
        }
    }
    struct flock probe;
    memset(&probe, 0, sizeof probe);
    probe.l_type = F_WRLCK;
    probe.l_whence = SEEK_SET;
    if (fcntl(client->daemon_lock, F_OFD_GETLK, &probe) == 0 && probe.l_type != F_UNLCK) {
        return true;
    }
    (void)close(client->daemon_lock); /* the next daemon may find another directory */
    client->daemon_lock = -1;
    return false;
}

/**
 * The value of a key at the top of a JSON object, as text without quotes; false when it is not there,
 * has an escape in it, or does not fit. Looks at no more than `length` bytes and never recurses.
 */
static inline bool bw_json_field(
        const char *json, size_t length, const char *key, char *value, size_t capacity) {
    const size_t key_length = strlen(key);
    int depth = 0;
    bool key_next = false;
    for (size_t i = 0; i < length;) {
        const char c = json[i];
        if (c == '"') {
            const size_t begin = ++i;
            while (i < length && json[i] != '"') {
                i += json[i] == '\\' ? 2u : 1u;
            }
            if (i >= length) {
                return false;
            }
            const size_t end = i++;
            if (depth != 1 || !key_next) {
                continue;
            }
            key_next = false;
            if (end - begin != key_length || memcmp(json + begin, key, key_length) != 0) {
                continue;
            }
            while (i < length && (json[i] == ' ' || json[i] == ':' || json[i] == '\t' || json[i] == '\n' ||
                                         json[i] == '\r')) {
                ++i;
            }
            const bool quoted = i < length && json[i] == '"';
            size_t used = 0;
            for (i += quoted ? 1u : 0u; i < length && used + 1 < capacity; ++i) {
                const char v = json[i];
                if (v == '\\') {
                    return false;
                }
                if (quoted ? v == '"' : v == ',' || v == '}' || v == ' ' || v == '\n' || v == '\r' || v == '\t') {
                    value[used] = '\0';
                    return true;
                }
                value[used++] = v;
            }
            return false;
        }
        if (c == '{' || c == '[') {
            ++depth;
            key_next = depth == 1 && c == '{';
        } else if (c == '}' || c == ']') {
            --depth;
        } else if (c == ',' && depth == 1) {
            key_next = true;
        }
        ++i;
    }
    return false;
}

/** Refuses a daemon of another version by its daemon.json; BW_AGAIN while there is none. */
static inline bw_status bw_daemon_check(const bw_client *client, bw_error *error) {
    char path[BW_PATH_CAPACITY];
    if (!bw_path_join(path, sizeof path, client->directory, BW_DAEMON_JSON_NAME)) {
        return bw_fail(error, BW_ERROR_ARGUMENT, "path too long: directory=%s", client->directory);
    }
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) {
        (void)bw_fail_errno(error, "open", path, errno);
        return errno == ENOENT ? BW_AGAIN : BW_ERROR_SYSTEM;
    }
    char json[8192]; /* what a client needs stands in front */
    size_t length = 0;
    while (length < sizeof json) {
        const ssize_t got = read(descriptor, json + length, sizeof json - length);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        length += (size_t)got;
    }
    (void)close(descriptor);
    char abi[16];
    if (!bw_json_field(json, length, "abi", abi, sizeof abi)) {
        return bw_fail(error, BW_ERROR_CORRUPT, "daemon.json names no ABI: path=%s bytes=%zu", path, length);
    }
    char expected[16];
    (void)snprintf(expected, sizeof expected, "%u", BW_ABI_VERSION);
    if (strcmp(abi, expected) != 0) {
        return bw_fail(error, BW_ERROR_VERSION,
                "the daemon has another ABI: path=%s abi=%s expected=%s; install client and daemon of one release",
                path, abi, expected);
    }
    char aeron[32];
    if (bw_json_field(json, length, "aeron", aeron, sizeof aeron) &&
            strncmp(aeron, BW_AERON_VERSION, strcspn(BW_AERON_VERSION, ".") + 1) != 0) {
        return bw_fail(error, BW_ERROR_VERSION,
                "the daemon has another Aeron: path=%s aeron=%s expected=" BW_AERON_VERSION
                "; install client and daemon of one release",
                path, aeron);
    }
    return BW_OK;
}

/**
 * Refuses a directory that is not to be trusted: a link, open to all, or of another user unless that one shares
 * it with a group and the caller named it. BW_AGAIN: there is none.
 */
static inline bw_status bw_directory_check(const bw_client *client, bw_error *error) {
    struct stat status;
    char own[64];
    if (lstat(client->directory, &status) != 0) {
        (void)bw_fail_errno(error, "stat", client->directory, errno);
        return errno == ENOENT ? BW_AGAIN : BW_ERROR_SYSTEM;
    }
    const int length = snprintf(own, sizeof own, "/dev/shm/batchweave-%u/", (unsigned)geteuid());
    const bool unnamed = strncmp(client->directory, own, (size_t)length) == 0; /* may have been made by anybody */
    const bool ours = status.st_uid == geteuid() || status.st_uid == 0;
    const bool shared = (status.st_mode & S_IWGRP) != 0 && !unnamed;
    if (!S_ISDIR(status.st_mode) || (status.st_mode & S_IWOTH) != 0 || (!ours && !shared)) {
        return bw_fail(error, BW_ERROR_ARGUMENT,
                "not a directory to trust: directory=%s owner=%u mode=%o; it is its daemon's user's own, or shared by"
                " serve --group",
                client->directory, (unsigned)status.st_uid, (unsigned)status.st_mode);
    }
    return BW_OK;
}

/* ---------------------------------------------------------------- the reader file */

/** Takes the lock of a file just made; false when it is not the file of that path any more. */
static inline bool bw_reader_lock(int descriptor, const char *path) {
    struct flock lock;
    memset(&lock, 0, sizeof lock);
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    struct stat mine;
    struct stat there;
    return fcntl(descriptor, F_OFD_SETLK, &lock) == 0 && fstat(descriptor, &mine) == 0 &&
            stat(path, &there) == 0 && mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
}

/** Maps a reader file as views are mapped; null where that cannot be had. */
static inline const bw_reader *bw_witness_map(int descriptor) {
    void *base = mmap(NULL, BW_READER_LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0);
    if (base == MAP_FAILED) {
        return NULL;
    }
    if (madvise(base, BW_READER_LENGTH, MADV_DONTFORK) != 0) { /* a child would keep the lock */
        (void)munmap(base, BW_READER_LENGTH);
        return NULL;
    }
    return (const bw_reader *)base;
}

/** Whether something has copied what this process maps, since the attachment's reader file was made. */
static inline bool bw_was_copied(const bw_attachment *attachment) {
    const uint64_t pulse = attachment->reader->pulse + 1u;
    bw_store_release_u64(&attachment->reader->pulse, pulse);
    bw_fence_full();
    return attachment->witness == NULL || bw_load_acquire_u64(&attachment->witness->pulse) != pulse;
}

/** One try at creating, locking and mapping `path`. BW_AGAIN: a starting daemon took it for a left-over. */
static inline bw_status bw_reader_create(
        bw_client *client, const char *path, bw_attachment *attachment, bw_error *error) {
    struct stat directory;
    if (stat(client->directory, &directory) != 0) {
        return bw_fail_errno(error, "stat", client->directory, errno);
    }
    const mode_t mode = (directory.st_mode & S_IWGRP) != 0 ? 0660 : 0600;
    const int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (descriptor < 0) {
        return bw_fail_errno(error, "open", path, errno);
    }
    client->newborn = descriptor;
    BW_STEP("reader-created");
    bw_status status = BW_OK;
    void *base = MAP_FAILED;
    if (fchmod(descriptor, mode) != 0 || ftruncate(descriptor, BW_READER_LENGTH) != 0) {
        status = bw_fail_errno(error, "ftruncate", path, errno);
    } else if (fallocate(descriptor, 0, 0, BW_READER_LENGTH) != 0 && errno != EOPNOTSUPP) {
        status = bw_fail_errno(error, "fallocate", path, errno); /* no SIGBUS on a full tmpfs */
    } else if (!bw_reader_lock(descriptor, path)) {
        status = BW_AGAIN;
    } else {
        BW_STEP("reader-locked");
        base = mmap(NULL, BW_READER_LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        if (base == MAP_FAILED) {
            status = bw_fail_errno(error, "mmap", path, errno);
        } else if (madvise(base, BW_READER_LENGTH, MADV_DONTFORK) != 0) {
            status = bw_fail_errno(error, "madvise", path, errno);
        }
    }
    if (status != BW_OK) {
        (void)unlink(path);
        if (base != MAP_FAILED) {
            (void)munmap(base, BW_READER_LENGTH);
        }
    } else {
        attachment->reader = (bw_reader *)base;
        attachment->witness = bw_witness_map(descriptor);
    }
    (void)close(descriptor); /* the mapping keeps the lock */
    client->newborn = -1;
    return status;
}

/** Gives `attachment` a reader file of its own that names `previous`. */
static inline bw_status bw_reader_open(
        bw_client *client, bw_attachment *attachment, const bw_attachment *previous, bw_error *error) {
    bw_status status = BW_AGAIN;
    for (int i = 0; i < 100 && status == BW_AGAIN; ++i) {
        if (getrandom(attachment->reader_id, sizeof attachment->reader_id, 0) !=
                (ssize_t)sizeof attachment->reader_id) {
            return bw_fail_errno(error, "getrandom", "reader id", errno);
        }
        (void)snprintf(attachment->reader_name, sizeof attachment->reader_name, BW_READER_NAME_FORMAT,
                (unsigned long long)attachment->reader_id[0], (unsigned long long)attachment->reader_id[1]);
        char path[BW_PATH_CAPACITY];
        if (!bw_path_join(path, sizeof path, client->directory, attachment->reader_name)) {
            return bw_fail(error, BW_ERROR_ARGUMENT, "path too long: directory=%s", client->directory);
        }
        status = bw_reader_create(client, path, attachment, error);
    }
    if (status == BW_AGAIN) {
        return bw_fail(error, BW_ERROR_SYSTEM,
                "a reader file cannot be locked: directory=%s; does this file system know OFD locks?",
                client->directory);
    }
    if (status != BW_OK) {
        return status;
    }
    bw_reader *reader = attachment->reader;
    reader->abi_version = BW_ABI_VERSION;
    reader->pid = (uint32_t)getpid();
    reader->file_length = BW_READER_LENGTH;
    memcpy(reader->reader_id, attachment->reader_id, sizeof reader->reader_id);
    if (previous != NULL) {
        memcpy(reader->previous_id, previous->reader_id, sizeof reader->previous_id);
    }
    reader->dp = client->options.dp;
    reader->cp = client->options.cp;
    reader->dp_size = client->options.dp_size;
    reader->cp_size = client->options.cp_size;
    reader->local_readers = client->options.local_readers;
    reader->ack_capacity = BW_MAX_DESCRIPTORS;
    reader->rank = (uint32_t)client->options.rank;
    bw_store_release_u64(&reader->magic, BW_READER_MAGIC); /* SYNC POINT: reader-born */
    BW_STEP("reader-born");
    return BW_OK;
}

/** Gives back what Welcome named. */
static inline void bw_attachment_unmap(bw_attachment *attachment) {
    if (attachment->control != NULL) {
        (void)munmap((void *)(uintptr_t)attachment->control, attachment->control_length);
        attachment->control = NULL;
    }
    if (attachment->doorbell != NULL) {
        bw_ring_doorbell(attachment->doorbell);
        (void)munmap(attachment->doorbell, BW_DOORBELL_LENGTH);
        attachment->doorbell = NULL;
    }
    if (attachment->mapping != NULL) {
        bw_mapping_drop(attachment->client, attachment->mapping);
        attachment->mapping = NULL;
    }
}

/** Ends an attachment that nobody refers to: the lock goes with the mapping. */
static inline void bw_attachment_free(bw_attachment *attachment) {
    bw_client *client = attachment->client;
    if (attachment->reader != NULL) {
        char path[BW_PATH_CAPACITY];
        if (bw_path_join(path, sizeof path, client->directory, attachment->reader_name)) {
            (void)unlink(path);
        }
        (void)munmap(attachment->reader, BW_READER_LENGTH);
    }
    if (attachment->witness != NULL) {
        (void)munmap((void *)(uintptr_t)attachment->witness, BW_READER_LENGTH);
    }
    bw_attachment_unmap(attachment);
    free(attachment);
}

/* ---------------------------------------------------------------- what Welcome names */

/** Opens `directory/name`, which must be a plain file name. */
static inline bw_status bw_open_named(
        const bw_client *client, const char *name, int flags, int *descriptor, struct stat *status, bw_error *error) {
    char path[BW_PATH_CAPACITY];
    if (name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL ||
            !bw_path_join(path, sizeof path, client->directory, name)) {
        return bw_fail(error, BW_ERROR_CORRUPT, "not a file name: name=%s", name);
    }
    *descriptor = open(path, flags | O_CLOEXEC | O_NOFOLLOW);
    if (*descriptor < 0) {
        (void)bw_fail_errno(error, "open", path, errno);
        return errno == ENOENT ? BW_AGAIN : BW_ERROR_SYSTEM;
    }
    if (fstat(*descriptor, status) != 0 || !S_ISREG(status->st_mode)) {
        (void)close(*descriptor);
        return bw_fail(error, BW_ERROR_CORRUPT, "not a regular file: path=%s", path);
    }
    return BW_OK;
}

/** Maps a whole shared file of the daemon, not inherited by children. */
static inline bw_status bw_map_named(const bw_client *client, const char *name, bool writable, size_t least,
        void **base, size_t *length, bw_error *error) {
    int descriptor = -1;
    struct stat status;
    const bw_status opened = bw_open_named(client, name, writable ? O_RDWR : O_RDONLY, &descriptor, &status, error);
    if (opened != BW_OK) {
        return opened;
    }
    if ((uint64_t)status.st_size < least) {
        (void)close(descriptor);
        return bw_fail(error, BW_ERROR_CORRUPT, "file is too short: name=%s bytes=%lld", name,
                (long long)status.st_size);
    }
    *length = (size_t)status.st_size;
    *base = mmap(NULL, *length, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, descriptor, 0);
    const int number = errno;
    (void)close(descriptor);
    if (*base == MAP_FAILED) {
        *base = NULL;
        return bw_fail_errno(error, "mmap", name, number);
    }
    (void)madvise(*base, *length, MADV_DONTFORK);
    return BW_OK;
}

/** Maps the doorbell. */
static inline bw_status bw_doorbell_map(const bw_client *client, bw_doorbell **doorbell, bw_error *error) {
    void *base = NULL;
    size_t length = 0;
    const bw_status status =
            bw_map_named(client, BW_DOORBELL_NAME, true, BW_DOORBELL_LENGTH, &base, &length, error);
    *doorbell = status == BW_OK ? (bw_doorbell *)base : NULL;
    if (status == BW_OK && bw_load_acquire_u64(&(*doorbell)->magic) != BW_DOORBELL_MAGIC) {
        return bw_fail(error, BW_ERROR_CORRUPT, "not a doorbell: directory=%s", client->directory);
    }
    return status;
}

/** Checks the header of a mapped control file against Welcome and its own length. BW_AGAIN: closed. */
static inline bw_status bw_control_check(
        const bw_attachment *attachment, const bw_welcome *welcome, bw_error *error) {
    const bw_control *control = attachment->control;
    /* SYNC POINT: generation-open */
    const uint32_t state = BW_STATE_OF(bw_load_acquire_u32(&control->state));
    if (control->magic != BW_CONTROL_MAGIC) {
        return bw_fail(error, BW_ERROR_CORRUPT, "not a control file: name=%s", welcome->control_file);
    }
    if (control->abi_version != BW_ABI_VERSION) {
        return bw_fail(error, BW_ERROR_VERSION, "the control file has another ABI: name=%s abi=%u expected=%u",
                welcome->control_file, control->abi_version, BW_ABI_VERSION);
    }
    if (memcmp(control->generation_id, welcome->generation_id, sizeof control->generation_id) != 0 ||
            state != BW_STATE_OPEN) {
        (void)bw_fail(error, BW_ERROR_DEADLINE, "the generation changed while attaching: name=%s state=%u",
                welcome->control_file, state);
        return BW_AGAIN;
    }
    const uint32_t slots = control->descriptor_count;
    const uint64_t page_size = control->page_size;
    const uint64_t needed = BW_DESCRIPTORS_OFFSET + (uint64_t)slots * BW_DESCRIPTOR_LENGTH +
            (uint64_t)control->coordinate_count * BW_COORDINATE_LENGTH;
    if (slots < BW_MIN_DESCRIPTORS || slots > BW_MAX_DESCRIPTORS || !bw_is_power_of_two(slots) ||
            control->coordinate_count > BW_MAX_COORDINATES || needed > attachment->control_length ||
            control->file_length > attachment->control_length || page_size == 0 ||
            page_size % (uint64_t)sysconf(_SC_PAGESIZE) != 0 || control->hold > BW_MAX_HOLD) {
        return bw_fail(error, BW_ERROR_CORRUPT,
                "control file is damaged: name=%s bytes=%zu fileLength=%llu slots=%u coordinates=%u pageSize=%llu",
                welcome->control_file, attachment->control_length, (unsigned long long)control->file_length, slots,
                control->coordinate_count, (unsigned long long)page_size);
    }
    return BW_OK;
}

/** Maps what Welcome names into `attachment` and stores the attachment into the reader file. */
static inline bw_status bw_attachment_map(
        bw_client *client, bw_attachment *attachment, const bw_welcome *welcome, bw_error *error) {
    void *base = NULL;
    bw_status status = bw_map_named(
            client, welcome->control_file, false, BW_DESCRIPTORS_OFFSET, &base, &attachment->control_length, error);
    if (status != BW_OK || base == NULL) {
        return status;
    }
    attachment->control = (const bw_control *)base;
    status = bw_control_check(attachment, welcome, error);
    if (status == BW_OK) {
        status = bw_doorbell_map(client, &attachment->doorbell, error);
    }
    if (status != BW_OK) {
        return status;
    }
    const bw_control *control = attachment->control;
    int descriptor = -1;
    struct stat data;
    status = bw_open_named(client, welcome->data_file,
            client->views == BW_VIEWS_SHARED_WRITABLE ? O_RDWR : O_RDONLY, &descriptor, &data, error);
    if (status != BW_OK) {
        return status;
    }
    if ((uint64_t)data.st_ino != control->ring_inode || (uint64_t)data.st_size < control->ring_length ||
            control->ring_length == 0) {
        status = bw_fail(error, BW_ERROR_CORRUPT,
                "data file is not the one of the control file: name=%s bytes=%lld inode=%llu expected=%llu,%llu",
                welcome->data_file, (long long)data.st_size, (unsigned long long)data.st_ino,
                (unsigned long long)control->ring_length, (unsigned long long)control->ring_inode);
    } else {
        status = bw_mapping_of(client, descriptor, &data, &attachment->mapping, error);
    }
    (void)close(descriptor);
    if (status != BW_OK) {
        return status;
    }
    attachment->generation = control->generation;
    memcpy(attachment->generation_id, control->generation_id, sizeof attachment->generation_id);
    attachment->ring_number = control->ring_number;
    attachment->descriptor_count = control->descriptor_count;
    attachment->page_size = control->page_size;
    attachment->hold = control->hold;
    attachment->n = (uint64_t)welcome->first_index;
    bw_reader *reader = attachment->reader;
    reader->ring_number = attachment->ring_number;
    reader->generation = attachment->generation;
    memcpy(reader->generation_id, attachment->generation_id, sizeof reader->generation_id);
    reader->first_n = attachment->n;
    bw_store_relaxed_u64(&reader->taken, attachment->n);
    BW_STEP("mapped");
    bw_store_release_u32(&reader->attached, 1u); /* SYNC POINT: reader-attached */
    BW_STEP("attached");
    return BW_OK;
}

#endif
