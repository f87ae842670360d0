/*
 * A lease: what keeps the bytes of one step where they are. Every tensor, slice and memoryview of
 * the step is a holder; when the last one goes the lease ends, on whatever thread that happens,
 * with or without the GIL. Plain C: no Python here.
 */
#ifndef BATCHWEAVE_PY_LEASE_H
#define BATCHWEAVE_PY_LEASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct bwpy_lease {
  atomic_size_t holders;
  unsigned long forks;                /* bwpy_forks when it was taken */
  bool writable;                      /* views are copy-on-write; else read-only by contract */
  bool owned;                         /* memory of this process, not of the ring: fork copies it */
  void (*end)(struct bwpy_lease*);    /* releases and frees; any thread, must not need the GIL */
} bwpy_lease;

/* How often this process was forked off: a lease that was taken before is not ours. */
extern unsigned long bwpy_forks;

/* Counts forks from now on; once per process. Returns 0 or an errno. */
int bwpy_watch_forks(void);

static inline void bwpy_lease_start(bwpy_lease* lease, bool writable, void (*end)(bwpy_lease*)) {
  atomic_init(&lease->holders, 1);
  lease->forks = bwpy_forks;
  lease->writable = writable;
  lease->owned = false;
  lease->end = end;
}

/* Whether the lease was inherited by fork: its bytes are not mapped here and it acks nothing. */
static inline bool bwpy_lease_inert(const bwpy_lease* lease) {
  return lease->forks != bwpy_forks && !lease->owned;
}

/* One holder more; the caller is a holder already. */
static inline bwpy_lease* bwpy_lease_hold(bwpy_lease* lease) {
  atomic_fetch_add_explicit(&lease->holders, 1, memory_order_relaxed);
  return lease;
}

/* One holder less. What any holder wrote to the views happens before the end. */
static inline void bwpy_lease_drop(bwpy_lease* lease) {
  if (atomic_fetch_sub_explicit(&lease->holders, 1, memory_order_acq_rel) == 1) {
    lease->end(lease);
  }
}

#endif
