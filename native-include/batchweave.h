/*
 * BatchWeave: the rank client in C. Header only, no dependency beside libc; C11 and C++17 on 64-bit Linux.
 *
 *   bw_options options;
 *   bw_options_init(&options);
 *   options.stream = "s3://bucket/corpus"; options.group = "run"; options.session = "run-0";
 *   options.dp = rank; options.dp_size = world; options.local_readers = local_world;
 *
 *   bw_error error;
 *   bw_client *client = NULL;
 *   bw_status status = bw_attach(&options, 60 * BW_SECOND_NS, &client, &error);
 *   for (bw_lease lease; status == BW_OK;) {
 *       status = bw_next(client, 300 * BW_SECOND_NS, &lease, &error);
 *       if (status != BW_OK) break;                       // BW_END_OF_STREAM, or an error
 *       bw_slice slice;
 *       status = bw_own_slice(client, &lease, 0, &slice, &error);
 *       ... train on slice.data, slice.length ...
 *       status = bw_release(&lease, &error);
 *   }
 *   bw_close(client);
 *
 * Threads. bw_attach, bw_next, bw_close, bw_info_of and bw_after_fork_child: one thread at a time per
 * client. Slice functions and bw_release: any thread, also while another is in bw_next, and also after
 * bw_close: a lease stays valid until it is released. A lease is released once; copies of it do not count.
 *
 * Waiting. Every call that waits takes a time-out in nanoseconds (negative: none) and looks at the
 * daemon's lock, the generation's state and options.interrupted at least every 100 ms. BW_ERROR_DEADLINE and
 * BW_ERROR_INTERRUPTED change nothing: call again. When the daemon dies or changes the generation, bw_next
 * attaches again by itself at the right step; leases taken before stay valid where they are.
 *
 * Fork. The mappings do not exist in a forked child: calls on the client and bw_release say BW_ERROR_FORKED
 * there and touch nothing; the slice functions read the step's memory, like a view. Call bw_after_fork_child
 * there for each client (for instance from pthread_atfork) to close its descriptors; attach anew for a client
 * of the child's own.
 *
 * Memory. bw_attach and re-attachment allocate; bw_next and bw_release on the way of a step do not.
 *
 * README.md beside this file has the rest: error codes, the protocol, what a view is.
 */
#ifndef BATCHWEAVE_H
#define BATCHWEAVE_H

#include "batchweave_base.h"

#include "batchweave_abi.h"
#include "batchweave_attach.h"
#include "batchweave_node.h"
#include "batchweave_slices.h"
#include "batchweave_take.h"
#include "batchweave_types.h"
#include "batchweave_views.h"

#include <stdlib.h>

#define BW_SECOND_NS INT64_C(1000000000)

/* ---------------------------------------------------------------- attaching */

/** Everything at its default; stream, group, session and the grid are still to be set. */
static inline void bw_options_init(bw_options *options) {
    memset(options, 0, sizeof *options);
    options->dp_size = 1;
    options->cp_size = 1;
    options->local_readers = 1;
    options->rank = -1;
    options->next_step = BW_NO_STEP;
    options->client_kind = 1;
    options->spin_rounds = 200;
}

/** The directory that a client without one uses: $BATCHWEAVE_DIR, else /dev/shm/batchweave-<uid>/default. */
static inline bool bw_default_directory(char *directory, size_t capacity) {
    const char *named = getenv("BATCHWEAVE_DIR");
    const int length = named != NULL && named[0] != '\0'
            ? snprintf(directory, capacity, "%s", named)
            : snprintf(directory, capacity, "/dev/shm/batchweave-%u/default", (unsigned)getuid());
    return length > 0 && (size_t)length < capacity;
}

/** Copies a text option; false when it is missing or too long. */
static inline bool bw_option_text(char *target, size_t capacity, const char *value) {
    const size_t length = value != NULL ? strlen(value) : 0;
    if (length == 0 || length >= capacity) {
        return false;
    }
    memcpy(target, value, length + 1);
    return true;
}

static inline bool bw_option_name(char *target, size_t capacity, const char *value) {
    return bw_option_text(target, capacity, value) &&
            strspn(target, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(target);
}

/** Copies and checks the options into `client`. */
static inline bw_status bw_options_take(bw_client *client, const bw_options *options, bw_error *error) {
    client->options = *options;
    const bool named = options->directory != NULL
            ? bw_option_text(client->directory, sizeof client->directory - 64, options->directory)
            : bw_default_directory(client->directory, sizeof client->directory - 64);
    if (!named) {
        return bw_fail(error, BW_ERROR_ARGUMENT, "directory must have 1 to %zu bytes", sizeof client->directory - 65);
    }
    if (!bw_option_text(client->stream, sizeof client->stream, options->stream)) {
        return bw_fail(error, BW_ERROR_ARGUMENT, "stream must have 1 to 512 bytes");
    }
    if (!bw_option_name(client->group, sizeof client->group, options->group) ||
            !bw_option_name(client->session, sizeof client->session, options->session)) {
        return bw_fail(error, BW_ERROR_ARGUMENT,
                "group and session must have 1 to 64 characters of [a-z0-9-]: group=%.80s session=%.80s",
                options->group != NULL ? options->group : "", options->session != NULL ? options->session : "");
    }
    if (options->dp >= options->dp_size || options->cp >= options->cp_size || options->dp_size > 65536u ||
            options->cp_size > 65536u || options->local_readers == 0 || options->local_readers > 65536u) {
        return bw_fail(error, BW_ERROR_ARGUMENT,
                "coordinate outside of the grid: dp=%u dpSize=%u cp=%u cpSize=%u localReaders=%u", options->dp,
                options->dp_size, options->cp, options->cp_size, options->local_readers);
    }
    if (options->token_length > sizeof client->token || (options->token_length > 0 && options->token == NULL) ||
            options->next_step < BW_NO_STEP || options->view_version < 0 || (int)options->views < 0 || options->views > BW_VIEWS_COPY) {
        return bw_fail(error, BW_ERROR_ARGUMENT, "option out of range: tokenBytes=%zu nextStep=%lld views=%d",
                options->token_length, (long long)options->next_step, (int)options->views);
    }
    if (options->token_length > 0) {
        memcpy(client->token, options->token, options->token_length);
    }
    client->options.token = client->token;
    client->options.directory = client->directory;
    client->options.stream = client->stream;
    client->options.group = client->group;
    client->options.session = client->session;
    client->views = options->views;
    client->next_step = options->next_step;
    client->view_version = options->view_version;
    return BW_OK;
}

/** Gives up one reference to the client. */
static inline void bw_client_drop(bw_client *client) {
    if (__atomic_sub_fetch(&client->references, 1u, __ATOMIC_ACQ_REL) == 0) {
        if (client->pagemap >= 0) {
            (void)close(client->pagemap);
        }
        if (client->daemon_lock >= 0) {
            (void)close(client->daemon_lock);
        }
        if (client->guard != NULL) {
            (void)munmap(client->guard, (size_t)sysconf(_SC_PAGESIZE));
        }
        free(client);
    }
}

/** A page that a forked child finds empty. Where the kernel has none, the pid does. */
static inline bool bw_guard_create(bw_client *client) {
    const size_t length = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return false;
    }
    client->guard = (uint32_t *)page;
    client->process = madvise(page, length, MADV_WIPEONFORK) == 0 ? 0 : (int64_t)getpid();
    __atomic_store_n(client->guard, 1u, __ATOMIC_RELAXED);
    return true;
}

/**
 * Attaches this process to the node daemon and maps its ring, waiting for daemon, session and the other
 * local ranks until the time-out.
 *
 * @param client receives the client, to be closed by bw_close; null on failure.
 * @param error may be null.
 * @return BW_OK; ARGUMENT, NO_DAEMON, VERSION, REFUSED, SUPERSEDED, RING_HELD, DEADLINE, CORRUPT, INTERRUPTED,
 *     SYSTEM.
 */
static inline bw_status bw_attach(
        const bw_options *options, int64_t timeout_ns, bw_client **client, bw_error *error) {
    const int64_t deadline_ns = bw_deadline_ns(timeout_ns);
    *client = NULL;
    bw_client *made = (bw_client *)calloc(1, sizeof *made);
    if (made == NULL) {
        return bw_fail_errno(error, "calloc", "client", ENOMEM);
    }
    made->references = 1;
    made->pagemap = -1;
    made->daemon_lock = -1;
    made->newborn = -1;
    bw_status status = bw_options_take(made, options, error);
    if (status == BW_OK && !bw_guard_create(made)) {
        status = bw_fail_errno(error, "mmap", "guard page", errno);
    }
    if (status == BW_OK) {
        if (made->views == BW_VIEWS_PRIVATE) {
            made->pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
        }
        status = bw_fail_where(made, error, bw_attach_until(made, deadline_ns, error));
    }
    if (status != BW_OK) {
        bw_client_drop(made);
        return status;
    }
    *client = made;
    return BW_OK;
}

/**
 * Closes the client. Leases that are not released yet stay valid, and keep their part of the ring, until
 * they are. Null is fine. In a forked child it only closes descriptors.
 */
static inline void bw_close(bw_client *client);

/** In a forked child: closes what the child inherited from `client`, which is inert there. */
static inline void bw_after_fork_child(bw_client *client) {
    if (client == NULL || !bw_is_inherited(client)) {
        return;
    }
    int *const descriptors[] = {&client->newborn, &client->pagemap, &client->daemon_lock};
    for (size_t i = 0; i < sizeof descriptors / sizeof descriptors[0]; ++i) {
        if (*descriptors[i] >= 0) {
            (void)close(*descriptors[i]); /* an open newborn would keep the parent's lock */
            *descriptors[i] = -1;
        }
    }
}

static inline void bw_close(bw_client *client) {
    if (client == NULL) {
        return;
    }
    if (bw_is_inherited(client)) {
        bw_after_fork_child(client);
        return;
    }
    if (!client->closed) {
        client->closed = true;
        bw_attachment *current = client->current;
        bw_lock(&client->lock);
        __atomic_store_n(&client->current, (bw_attachment *)NULL, __ATOMIC_RELEASE);
        bw_unlock(&client->lock);
        if (current != NULL) {
            bw_replaced_drop(current);
            bw_attachment_drop(current);
        }
        bw_client_drop(client);
    }
}

/** What the client knows about itself. */
static inline bw_status bw_info_of(const bw_client *client, bw_info *info, bw_error *error) {
    if (bw_is_inherited(client)) {
        return bw_fail(error, BW_ERROR_FORKED, "the client was inherited by fork; attach in this process");
    }
    const bw_attachment *current = client->current;
    if (current == NULL) {
        return bw_fail(error, BW_ERROR_CLOSED, "the client is closed");
    }
    memset(info, 0, sizeof *info);
    info->next_step = client->next_step;
    memcpy(info->stream_id, client->stream_id, sizeof info->stream_id);
    info->view_version = client->view_version;
    info->grid_dp = client->grid_dp;
    info->grid_cp = client->grid_cp;
    info->ring_number = current->ring_number;
    info->generation = current->generation;
    memcpy(info->generation_id, current->generation_id, sizeof info->generation_id);
    info->hold = current->hold;
    info->leases = __atomic_load_n(&client->leases, __ATOMIC_ACQUIRE);
    info->ring_base = current->mapping->base;
    info->ring_length = current->mapping->length;
    info->ring_inode = current->mapping->inode;
    info->views = current->mapping->views;
    info->attachments = client->attachments;
    return BW_OK;
}

/** Length of a resume token. */
#define BW_TOKEN_LENGTH 44

/**
 * Writes the resume token that a trainer stores in its checkpoint: identical on all ranks that name the same
 * step. Give it back as options.token.
 *
 * @param next_step the first step that is not part of the checkpoint, for instance lease.next_step.
 * @param token BW_TOKEN_LENGTH bytes.
 */
static inline bw_status bw_token(
        const bw_client *client, int64_t next_step, uint8_t *token, bw_error *error) {
    if (bw_is_inherited(client)) {
        return bw_fail(error, BW_ERROR_FORKED, "the client was inherited by fork; attach in this process");
    }
    if (next_step < 0) {
        return bw_fail(error, BW_ERROR_ARGUMENT, "no step: nextStep=%lld", (long long)next_step);
    }
    memset(token, 0, BW_TOKEN_LENGTH);
    memcpy(token, "BWTK\1\1", 6);
    for (size_t i = 0; i < 16; ++i) { /* RFC 4122 byte order */
        token[8 + i] = (uint8_t)(client->stream_id[i / 8] >> (56 - 8 * (i % 8)));
    }
    memcpy(token + 24, &client->view_version, 8);
    memcpy(token + 32, &next_step, 8);
    const uint32_t crc = bw_crc32c(0, token, 40);
    memcpy(token + 40, &crc, 4);
    return BW_OK;
}

/* ---------------------------------------------------------------- the session */

/**
 * Registers a model checkpoint that is durable, so that the steps from its position on are kept: from one rank,
 * or from all. Registering it again is no error. The thread of bw_next.
 *
 * @param id the checkpoint's name: [a-z0-9-], 1 to 64 characters.
 * @param next_step the step that its token names, for instance lease.next_step when it was taken.
 * @param keep how many checkpoints of the group stay, the newest, this one included; at least 1.
 * @return BW_OK; ARGUMENT, REFUSED (refused_code RECLAIMED: `step` is the horizon; CHECKPOINT: a later one of the
 *     session is registered, or the step is beyond the head), SUPERSEDED, DAEMON_LOST, DEADLINE, INTERRUPTED, FORKED,
 *     CLOSED.
 */
static inline bw_status bw_checkpointed(bw_client *client, const char *id, int64_t next_step, uint32_t keep,
        int64_t timeout_ns, bw_error *error) {
    char name[65];
    if (bw_is_inherited(client)) {
        return bw_fail(error, BW_ERROR_FORKED, "the client was inherited by fork; attach in this process");
    }
    if (client->closed) {
        return bw_fail(error, BW_ERROR_CLOSED, "the client is closed");
    }
    if (!bw_option_name(name, sizeof name, id) || next_step < 0 || keep == 0 || keep > (uint32_t)INT32_MAX) {
        return bw_fail(error, BW_ERROR_ARGUMENT,
                "not a checkpoint: id=%.80s nextStep=%lld keep=%u; an id has 1 to 64 characters of [a-z0-9-]",
                id != NULL ? id : "", (long long)next_step, keep);
    }
    bw_checkpoint checkpoint;
    checkpoint.step = next_step;
    checkpoint.abi = (int32_t)BW_ABI_VERSION;
    checkpoint.view_version = client->view_version;
    checkpoint.keep = (int32_t)keep;
    checkpoint.stream = client->stream;
    checkpoint.group = client->group;
    checkpoint.session = client->session;
    checkpoint.id = name;
    uint8_t message[BW_MESSAGE_CAPACITY];
    bw_answer answer;
    const bw_status status = bw_ask(client, message, bw_checkpoint_encode(&checkpoint, message),
            BW_REGISTERED_TEMPLATE, &answer, bw_deadline_ns(timeout_ns), error);
    return bw_fail_where(client, error, status);
}

/**
 * Asks how the stream stands at its head. The thread of bw_next.
 *
 * @return BW_OK; REFUSED, SUPERSEDED, DAEMON_LOST, DEADLINE, INTERRUPTED, FORKED, CLOSED.
 */
static inline bw_status bw_stream_status_of(
        bw_client *client, int64_t timeout_ns, bw_stream_status *stream, bw_error *error) {
    if (bw_is_inherited(client)) {
        return bw_fail(error, BW_ERROR_FORKED, "the client was inherited by fork; attach in this process");
    }
    if (client->closed) {
        return bw_fail(error, BW_ERROR_CLOSED, "the client is closed");
    }
    bw_question question;
    question.view_version = client->view_version;
    question.abi = (int32_t)BW_ABI_VERSION;
    question.stream = client->stream;
    question.group = client->group;
    question.session = client->session;
    uint8_t message[BW_MESSAGE_CAPACITY];
    bw_answer answer;
    const bw_status status = bw_ask(client, message, bw_question_encode(&question, message), BW_STATUS_TEMPLATE,
            &answer, bw_deadline_ns(timeout_ns), error);
    if (status == BW_OK) {
        *stream = answer.status;
    }
    return bw_fail_where(client, error, status);
}

/* ---------------------------------------------------------------- taking */

/**
 * Takes the next step, in order, and leases it to the caller.
 *
 * Attaches again by itself when the daemon died or changed the generation. After STEP_FAILED the next call
 * tries the same step once more. Steps may be held while the next is asked for (bw_info.hold of them
 * without stopping the daemon's prefetch).
 *
 * @param lease receives the lease; untouched meaning unless BW_OK.
 * @return BW_OK; BW_END_OF_STREAM; DEADLINE, DAEMON_LOST, STEP_FAILED, RING_HELD, SUPERSEDED, REFUSED, CORRUPT,
 *     DIRTY (memory was locked after attaching; the step is not taken), VERSION, INTERRUPTED, FORKED, CLOSED, SYSTEM.
 */
static inline bw_status bw_next(bw_client *client, int64_t timeout_ns, bw_lease *lease, bw_error *error) {
    static const char *const reasons[] = {"the daemon died", "daemon restart", "another coordinate came",
        "a rank asked for an older step", "a newer launch", "another try", "daemon shut down", "session ended"};
    memset(lease, 0, sizeof *lease);
    if (bw_is_inherited(client)) {
        return bw_fail(error, BW_ERROR_FORKED, "the client was inherited by fork; attach in this process");
    }
    if (client->closed) {
        return bw_fail(error, BW_ERROR_CLOSED, "the client is closed");
    }
    const int64_t deadline_ns = bw_deadline_ns(timeout_ns);
    for (;;) {
        if (client->detached) {
            const bw_status attached = bw_attach_until(client, deadline_ns, error);
            if (attached != BW_OK) {
                return bw_fail_where(client, error, attached);
            }
            bw_notice(client, "batchweave: attached again, because %s",
                    client->closed_reason < sizeof reasons / sizeof reasons[0] ? reasons[client->closed_reason]
                                                                                : "of a new reason");
        }
        const bw_status status = bw_take(client, deadline_ns, lease, error);
        if (status != BW_AGAIN) {
            return status;
        }
        client->detached = true;
    }
}

/* ---------------------------------------------------------------- releasing */

/**
 * Gives a step back, in any order and from any thread. After it nothing of the region may be touched.
 *
 * Copy-on-write views are cleaned first, so that no later step shows an edit. BW_ERROR_DIRTY: that failed, the
 * step is still held, release again. BW_ERROR_CORRUPT (check_on_release): the step is released, but a slice of
 * this rank was not what it should have been. In a forked child: BW_ERROR_FORKED and nothing happens.
 */
static inline bw_status bw_release(bw_lease *lease, bw_error *error) {
    bw_attachment *attachment = lease->attachment;
    if (attachment == NULL) {
        return bw_fail(error, BW_ERROR_CLOSED, "the lease was released before");
    }
    bw_client *client = attachment->client;
    if (bw_is_inherited(client)) {
        return bw_fail(error, BW_ERROR_FORKED, "the lease was inherited by fork and means nothing here");
    }
    bw_status checked = BW_OK;
    if (attachment->mapping->views == BW_VIEWS_PRIVATE) {
        const bw_status cleaned =
                bw_views_clean(client->pagemap, lease->region, (size_t)lease->region_length, error);
        if (cleaned != BW_OK) {
            if (error != NULL) {
                error->step = lease->step;
            }
            return bw_fail_where(client, error, cleaned);
        }
    } else if (client->options.check_on_release) {
        checked = bw_own_slices_check(client, lease, error);
    }
    BW_STEP("release");
    bw_store_release_u64(&attachment->reader->ack[lease->n & (attachment->descriptor_count - 1u)],
            BW_ACK_RELEASED(lease->n)); /* SYNC POINT: slot-released */
    BW_STEP("acked");
    bw_ring_doorbell(attachment->doorbell);
    if (__atomic_load_n(&client->current, __ATOMIC_ACQUIRE) != attachment) {
        bw_lock(&client->lock); /* the daemon that lives now may have another doorbell */
        if (client->current != NULL) {
            bw_ring_doorbell(client->current->doorbell);
        }
        bw_unlock(&client->lock);
    }
    lease->attachment = NULL;
    (void)__atomic_sub_fetch(&client->leases, 1u, __ATOMIC_RELEASE);
    bw_attachment_drop(attachment);
    return checked;
}

#endif
