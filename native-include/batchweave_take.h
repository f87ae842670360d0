/*
 * Taking the next step: wait for its descriptor, read it, notice a dead daemon, a new generation, a mapping
 * whose pages were copied, and attach again.
 */
#ifndef BATCHWEAVE_TAKE_H
#define BATCHWEAVE_TAKE_H

#include "batchweave_base.h"

#include "batchweave_abi.h"
#include "batchweave_attach.h"
#include "batchweave_node.h"
#include "batchweave_slices.h"
#include "batchweave_types.h"
#include "batchweave_views.h"

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

#endif
