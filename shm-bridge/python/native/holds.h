/*
 * What a client and the steps taken through it share, whichever lives longer: leases on the ring,
 * and the releases that could not be made at once. A release waits for the GPU's copies where the
 * ring is registered with it, and is tried again where an edited view could not be dropped.
 */
#ifndef BATCHWEAVE_PY_HOLDS_H
#define BATCHWEAVE_PY_HOLDS_H

#include "batchweave.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lease.h"
#include "pin.h"

typedef struct bwpy_holds bwpy_holds;

/* NULL where there is no memory. The caller, `owner` of the client, is the first holder. */
bwpy_holds* bwpy_holds_new(void* owner);

/* The owner: there only inside of calls that the owner makes. */
void* bwpy_holds_owner(const bwpy_holds* holds);

/* One holder less. */
void bwpy_holds_drop(bwpy_holds* holds);

/* The runtime to register rings with; to be bound before the client attaches. */
bwpy_pin* bwpy_holds_pin(bwpy_holds* holds);

/* A lease on a step of the ring. NULL where there is no memory. */
bwpy_lease* bwpy_hold_in_ring(bwpy_holds* holds, const bw_lease* lease, bw_views views);

/* Copies slices next to each other and points them there. NULL where there is no memory. */
bwpy_lease* bwpy_hold_copied(bw_slice* slices, uint32_t count);

/*
 * Releases what the GPU has copied, and marks what was let go since the last call. Called by the
 * thread that takes steps, on which the rank's device is current. With `wait`, waits for the copies.
 * Returns whether anything was released.
 */
bool bwpy_holds_flush(bwpy_holds* holds, uintptr_t stream, bool wait);

/* No flush comes any more: what is let go from now on is released where that happens. */
void bwpy_holds_close(bwpy_holds* holds);

/*
 * Tries what could not be released once more. BW_OK when nothing is left and nothing was found
 * broken at a release since the last call; else `error` says.
 */
bw_status bwpy_holds_check(bwpy_holds* holds, bw_error* error);

#endif
