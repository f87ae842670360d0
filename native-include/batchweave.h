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
#include "batchweave_crc32c.h"
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

/* ---------------------------------------------------------------- slices */

/** Reads and checks entry `index` of the region's table. */
static inline bw_status bw_slice_at(const bw_lease *lease, uint32_t index, bw_slice *slice, bw_error *error) {
    memset(slice, 0, sizeof *slice);
    if (index >= lease->slice_count) {
        return bw_fail(error, BW_ERROR_ARGUMENT, "no such slice: index=%u count=%u", index, lease->slice_count);
    }
    bw_table_entry entry;
    memcpy(&entry, lease->region + BW_TABLE_LENGTH + (uint64_t)index * BW_TABLE_ENTRY_LENGTH, sizeof entry);
    const uint64_t table_length = BW_TABLE_LENGTH + (uint64_t)lease->slice_count * BW_TABLE_ENTRY_LENGTH;
    if (entry.offset < table_length || entry.offset % BW_SLICE_ALIGNMENT != 0 || entry.offset > lease->region_length ||
            entry.length > lease->region_length - entry.offset) {
        (void)bw_fail(error, BW_ERROR_CORRUPT,
                "table entry is out of range: step=%lld index=%u offset=%llu length=%llu region=%llu",
                (long long)lease->step, index, (unsigned long long)entry.offset, (unsigned long long)entry.length,
                (unsigned long long)lease->region_length);
        if (error != NULL) {
            error->step = lease->step;
        }
        return BW_ERROR_CORRUPT;
    }
    slice->data = lease->region + entry.offset;
    slice->length = entry.length;
    slice->dp = entry.dp;
    slice->cp = entry.cp;
    slice->crc32c = entry.crc32c;
    slice->micro_batches = entry.micro_batches;
    slice->samples = entry.samples;
    slice->tokens = entry.tokens;
    return BW_OK;
}

/** Finds the slice of a coordinate of the stream's grid; BW_AGAIN when this node does not have it. */
static inline bw_status bw_slice_find(
        const bw_lease *lease, uint32_t dp, uint32_t cp, bw_slice *slice, bw_error *error) {
    memset(slice, 0, sizeof *slice);
    uint32_t low = 0;
    uint32_t high = lease->slice_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2u;
        const bw_status status = bw_slice_at(lease, middle, slice, error);
        if (status != BW_OK) {
            return status;
        }
        if (slice->dp == dp && slice->cp == cp) {
            return BW_OK;
        }
        if (slice->dp < dp || (slice->dp == dp && slice->cp < cp)) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return BW_AGAIN;
}

/**
 * This rank's slice `index` of lease->own_count: one, or several neighbours when the job has fewer
 * data-parallel ranks than the stream was cut for.
 */
static inline bw_status bw_own_slice(
        const bw_client *client, const bw_lease *lease, uint32_t index, bw_slice *slice, bw_error *error) {
    memset(slice, 0, sizeof *slice);
    if (index >= lease->own_count) {
        return bw_fail(error, BW_ERROR_ARGUMENT, "no such slice of this rank: index=%u count=%u", index,
                lease->own_count);
    }
    const uint32_t dp = client->options.dp * lease->own_count + index;
    const bw_status status = bw_slice_find(lease, dp, client->options.cp, slice, error);
    if (status == BW_AGAIN) {
        (void)bw_fail(error, BW_ERROR_CORRUPT, "the region lacks a slice of this rank: step=%lld dp=%u cp=%u",
                (long long)lease->step, dp, client->options.cp);
        if (error != NULL) {
            error->step = lease->step;
        }
        return BW_ERROR_CORRUPT;
    }
    return status;
}

/** Compares the bytes of a slice with its checksum: BW_OK or BW_ERROR_CORRUPT. */
static inline bw_status bw_slice_check(const bw_lease *lease, const bw_slice *slice, bw_error *error) {
    const uint32_t crc = bw_crc32c(0, slice->data, (size_t)slice->length);
    if (crc == slice->crc32c) {
        return BW_OK;
    }
    (void)bw_fail(error, BW_ERROR_CORRUPT,
            "slice does not match its checksum: step=%lld dp=%u cp=%u length=%llu crc32c=%08x expected=%08x",
            (long long)lease->step, slice->dp, slice->cp, (unsigned long long)slice->length, crc, slice->crc32c);
    if (error != NULL) {
        error->step = lease->step;
    }
    return BW_ERROR_CORRUPT;
}

/** Checks all slices of this rank. */
static inline bw_status bw_own_slices_check(const bw_client *client, const bw_lease *lease, bw_error *error) {
    for (uint32_t i = 0; i < lease->own_count; ++i) {
        bw_slice slice;
        bw_status status = bw_own_slice(client, lease, i, &slice, error);
        if (status == BW_OK) {
            status = bw_slice_check(lease, &slice, error);
        }
        if (status != BW_OK) {
            return bw_fail_where(client, error, status);
        }
    }
    return BW_OK;
}

/* ---------------------------------------------------------------- taking */

/** A consistent look at the status group of a control file. SYNC POINT: status */
typedef struct bw_trouble {
    uint64_t blocked_bytes;
    uint64_t blocked_step;
    uint64_t blocked_reader[2];
    uint64_t blocked_reader_steps;
    char text[BW_TEXT_BYTES + 1];
} bw_trouble;

/** Reads it; all zero when the daemon keeps changing it. */
static inline void bw_trouble_read(const bw_control *control, bw_trouble *trouble) {
    for (int i = 0; i < 100; ++i) {
        const uint32_t before = bw_load_acquire_u32(&control->status_seq);
        trouble->blocked_bytes = bw_load_relaxed_u64(&control->blocked_bytes);
        trouble->blocked_step = bw_load_relaxed_u64(&control->blocked_step);
        trouble->blocked_reader[0] = bw_load_relaxed_u64(&control->blocked_reader[0]);
        trouble->blocked_reader[1] = bw_load_relaxed_u64(&control->blocked_reader[1]);
        trouble->blocked_reader_steps = bw_load_relaxed_u64(&control->blocked_reader_steps);
        uint32_t length = bw_load_relaxed_u32(&control->trouble_length);
        length = length < BW_TEXT_BYTES ? length : BW_TEXT_BYTES;
        memcpy(trouble->text, control->trouble_text, length);
        trouble->text[length] = '\0';
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if ((before & 1u) == 0 && before == bw_load_relaxed_u32(&control->status_seq)) {
            return;
        }
        bw_pause();
    }
    memset(trouble, 0, sizeof *trouble);
}

/** The steps from the lowest one that this attachment has not released up to the one it asks for. */
static inline uint64_t bw_unreleased(const bw_attachment *attachment) {
    const bw_reader *reader = attachment->reader;
    const uint64_t count = attachment->descriptor_count;
    uint64_t lowest = attachment->n > reader->first_n + count ? attachment->n - count : reader->first_n;
    while (lowest < attachment->n && bw_load_acquire_u64(&reader->ack[lowest & (count - 1u)]) >= BW_ACK_RELEASED(lowest)) {
        ++lowest;
    }
    return attachment->n - lowest;
}

/**
 * Whether the next step does not fit because this very rank keeps more than it may. The status is what the
 * daemon last saw: it counts only if that is what this rank has not released now.
 */
static inline bool bw_ring_is_held(const bw_client *client, const bw_attachment *attachment, const bw_trouble *trouble) {
    if (trouble->blocked_bytes == 0 || trouble->blocked_step != (uint64_t)client->next_step ||
            memcmp(trouble->blocked_reader, attachment->reader_id, sizeof trouble->blocked_reader) != 0) {
        return false;
    }
    const uint64_t unreleased = bw_unreleased(attachment);
    return unreleased > attachment->hold && unreleased == trouble->blocked_reader_steps;
}

/** The deadline of a wait has passed: says what the daemon's last trouble was. */
static inline bw_status bw_take_late(bw_client *client, const bw_attachment *attachment, bw_error *error) {
    bw_trouble trouble;
    bw_trouble_read(attachment->control, &trouble);
    char blocked[128] = "";
    if (trouble.blocked_bytes != 0) {
        (void)snprintf(blocked, sizeof blocked, " blockedStep=%llu blockedBytes=%llu blockedBy=%016llx%016llx",
                (unsigned long long)trouble.blocked_step, (unsigned long long)trouble.blocked_bytes,
                (unsigned long long)trouble.blocked_reader[0], (unsigned long long)trouble.blocked_reader[1]);
    }
    (void)bw_fail(error, BW_ERROR_DEADLINE, "the step did not come in time: ring=%u n=%llu%s status=%.400s",
            attachment->ring_number, (unsigned long long)attachment->n, blocked,
            trouble.text[0] != '\0' ? trouble.text : "no trouble reported");
    bw_error_told(error, trouble.text);
    return bw_fail_where(client, error, BW_ERROR_DEADLINE);
}

/**
 * Waits until step n of the generation is published. BW_AGAIN: the generation is closed or the daemon is
 * dead, attach again.
 */
static inline bw_status bw_take_wait(
        bw_client *client, bw_attachment *attachment, const bw_descriptor *descriptor, int64_t deadline_ns,
        bw_error *error) {
    const bw_control *control = attachment->control;
    const uint64_t published = BW_SEQ_PUBLISHED(attachment->n);
    uint32_t rounds = 0;
    int64_t held_since_ns = 0;
    for (;;) {
        const uint32_t word = bw_load_acquire_u32(&control->wake); /* SYNC POINT: wake */
        const uint64_t seq = bw_load_acquire_u64(&descriptor->seq); /* SYNC POINT: slot-ready */
        if (seq == published) {
            return BW_OK;
        }
        if (seq > published) {
            return bw_fail_where(client, error, bw_fail(error, BW_ERROR_CORRUPT,
                    "a descriptor was reused under its reader: ring=%u n=%llu seq=%llu", attachment->ring_number,
                    (unsigned long long)attachment->n, (unsigned long long)seq));
        }
        const uint32_t state = bw_load_acquire_u32(&control->state);
        if (BW_STATE_OF(state) != BW_STATE_OPEN) {
            client->closed_reason = BW_REASON_OF(state);
            return BW_AGAIN;
        }
        if (rounds < client->options.spin_rounds) {
            ++rounds;
            bw_pause();
            continue;
        }
        const int64_t now_ns = bw_now_ns();
        if (now_ns >= deadline_ns) {
            return bw_take_late(client, attachment, error);
        }
        if (bw_stopped(client)) {
            return bw_fail(error, BW_ERROR_INTERRUPTED, "stopped by the caller");
        }
        if (!bw_daemon_lives(client)) {
            client->closed_reason = 0;
            return BW_AGAIN;
        }
        if (rounds++ > client->options.spin_rounds) { /* waited once already */
            bw_trouble trouble;
            bw_trouble_read(control, &trouble);
            if (!bw_ring_is_held(client, attachment, &trouble)) {
                held_since_ns = 0;
            } else if (held_since_ns == 0) {
                held_since_ns = now_ns;
            } else if (now_ns - held_since_ns >= BW_LOOK_NS) {
                (void)bw_fail(error, BW_ERROR_RING_HELD,
                        "the next step does not fit beside the steps this rank holds: leases=%u bytes=%llu; release"
                        " steps earlier or serve with more memory",
                        __atomic_load_n(&client->leases, __ATOMIC_ACQUIRE), (unsigned long long)trouble.blocked_bytes);
                if (error != NULL) {
                    error->bytes = (int64_t)trouble.blocked_bytes;
                }
                return bw_fail_where(client, error, BW_ERROR_RING_HELD);
            }
        }
        const int64_t left_ns = deadline_ns - now_ns;
        BW_STEP("waiting");
        bw_futex_wait(&control->wake, word, left_ns < BW_LOOK_NS ? left_ns : BW_LOOK_NS);
    }
}

/** Checks a published READY descriptor and its region, and makes it a lease. */
static inline bw_status bw_take_ready(
        bw_client *client, bw_attachment *attachment, const bw_descriptor *descriptor, bw_lease *lease, bw_error *error) {
    const uint64_t offset = descriptor->offset;
    const uint64_t length = descriptor->length;
    const uint64_t ring_length = attachment->mapping->length;
    if (descriptor->step != (uint64_t)client->next_step || descriptor->next_step <= descriptor->step ||
            descriptor->next_step > (uint64_t)INT64_MAX || length < BW_TABLE_LENGTH ||
            offset % attachment->page_size != 0 || length % attachment->page_size != 0 || offset > ring_length ||
            length > ring_length - offset) {
        return bw_fail(error, BW_ERROR_CORRUPT,
                "descriptor is out of range: n=%llu step=%llu nextStep=%llu offset=%llu length=%llu ring=%llu",
                (unsigned long long)attachment->n, (unsigned long long)descriptor->step,
                (unsigned long long)descriptor->next_step, (unsigned long long)offset, (unsigned long long)length,
                (unsigned long long)ring_length);
    }
    lease->attachment = attachment;
    lease->n = attachment->n;
    lease->step = (int64_t)descriptor->step;
    lease->next_step = (int64_t)descriptor->next_step;
    lease->region = attachment->mapping->base + offset;
    lease->region_length = length;
    bw_table table;
    memcpy(&table, lease->region, sizeof table);
    client->copied = client->copied || bw_was_copied(attachment) || table.step != descriptor->step;
    if (client->copied && attachment->mapping->views == BW_VIEWS_PRIVATE) {
        /* All pages are asked about: the first ones may have been cleaned as part of another region since. */
        const bw_status renewed = bw_views_clean(client->pagemap, lease->region, (size_t)length, error);
        if (renewed != BW_OK) {
            return renewed;
        }
        memcpy(&table, lease->region, sizeof table);
    }
    if (table.magic != BW_TABLE_MAGIC || table.step != descriptor->step || table.region_length != length ||
            table.entry_count > BW_MAX_TABLE_ENTRIES ||
            table.table_length != BW_TABLE_LENGTH + (uint64_t)table.entry_count * BW_TABLE_ENTRY_LENGTH ||
            table.table_length > length) {
        return bw_fail(error, BW_ERROR_CORRUPT,
                "table of the region is damaged: n=%llu step=%llu entries=%u tableLength=%u regionLength=%llu",
                (unsigned long long)attachment->n, (unsigned long long)table.step, table.entry_count,
                table.table_length, (unsigned long long)table.region_length);
    }
    lease->slice_count = table.entry_count;
    lease->own_count = client->grid_dp / client->options.dp_size;
    bw_status status = BW_OK;
    for (uint32_t i = 0; i < lease->own_count && status == BW_OK; ++i) {
        bw_slice slice;
        status = bw_own_slice(client, lease, i, &slice, error);
        if (status == BW_OK && client->options.check_on_take) {
            status = bw_slice_check(lease, &slice, error);
        }
    }
    return status;
}

/** The error or end that a FAILED or END descriptor is. */
static inline bw_status bw_take_last(
        bw_client *client, const bw_attachment *attachment, const bw_descriptor *descriptor, bw_error *error) {
    if (descriptor->kind == BW_KIND_END) {
        return BW_END_OF_STREAM;
    }
    if (descriptor->kind != BW_KIND_FAILED) {
        return bw_fail_where(client, error, bw_fail(error, BW_ERROR_CORRUPT, "unknown kind of descriptor: n=%llu kind=%u",
                (unsigned long long)attachment->n, descriptor->kind));
    }
    const bw_control *control = attachment->control;
    uint32_t length = bw_load_acquire_u32(&control->failure_length);
    length = length < 500u ? length : 500u;
    (void)bw_fail(error, descriptor->reason == BW_FAILED_FENCED ? BW_ERROR_SUPERSEDED : BW_ERROR_STEP_FAILED,
            "the step cannot be served: reason=%u %.*s", descriptor->reason, (int)length,
            (const char *)control->failure_text);
    if (error != NULL) {
        char told[501];
        memcpy(told, control->failure_text, length);
        told[length] = '\0';
        bw_error_told(error, told);
        error->refused_code = (int)descriptor->reason;
    }
    client->detached = descriptor->reason != BW_FAILED_FENCED; /* another try is another generation */
    client->closed_reason = BW_CLOSED_RETRY;
    return bw_fail_where(client, error,
            descriptor->reason == BW_FAILED_FENCED ? BW_ERROR_SUPERSEDED : BW_ERROR_STEP_FAILED);
}

/** Takes step n of the current generation. BW_AGAIN: attach again. */
static inline bw_status bw_take(bw_client *client, int64_t deadline_ns, bw_lease *lease, bw_error *error) {
    bw_attachment *attachment = client->current;
    const bw_control *control = attachment->control;
    bw_reader *reader = attachment->reader;
    const uint64_t n = attachment->n;
    const bw_descriptor *descriptor = (const bw_descriptor *)(const void *)((const uint8_t *)control +
            BW_DESCRIPTORS_OFFSET + (n & (attachment->descriptor_count - 1u)) * BW_DESCRIPTOR_LENGTH);
    if (bw_load_acquire_u64(&descriptor->seq) != BW_SEQ_PUBLISHED(n)) {
        bw_store_relaxed_u64(&reader->waiting, n + 1u);
        const bw_status status = bw_take_wait(client, attachment, descriptor, deadline_ns, error);
        bw_store_relaxed_u64(&reader->waiting, 0u);
        if (status != BW_OK) {
            return status;
        }
    }
    BW_STEP("slot");
    bw_store_release_u64(&reader->taken, n + 1u);
    bw_fence_full(); /* SYNC POINT: taken-or-closed */
    BW_STEP("taken");
    const uint32_t state = bw_load_acquire_u32(&control->state);
    bw_status status;
    if (BW_STATE_OF(state) != BW_STATE_OPEN) {
        client->closed_reason = BW_REASON_OF(state);
        status = BW_AGAIN;
    } else if (descriptor->kind == BW_KIND_READY) {
        status = bw_take_ready(client, attachment, descriptor, lease, error);
        if (status == BW_OK) {
            (void)__atomic_add_fetch(&attachment->references, 1u, __ATOMIC_RELAXED);
            (void)__atomic_add_fetch(&client->leases, 1u, __ATOMIC_RELAXED);
            attachment->n = n + 1u;
            client->next_step = lease->next_step;
            return BW_OK;
        }
        status = bw_fail_where(client, error, status);
    } else {
        status = bw_take_last(client, attachment, descriptor, error);
    }
    bw_store_release_u64(&reader->taken, n);
    lease->attachment = NULL;
    return status;
}

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
