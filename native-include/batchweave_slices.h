/*
 * The slices of a step that a rank holds: found by index, name or grid, and checked.
 */
#ifndef BATCHWEAVE_SLICES_H
#define BATCHWEAVE_SLICES_H

#include "batchweave_base.h"

#include "batchweave_abi.h"
#include "batchweave_crc32c.h"
#include "batchweave_node.h"
#include "batchweave_types.h"

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

#endif
