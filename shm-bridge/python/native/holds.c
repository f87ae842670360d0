#include "holds.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define COPY_ALIGNMENT 64

/* The hold on one step of the ring. */
typedef struct ring_lease {
  bwpy_lease base;
  bw_lease lease;
  bwpy_holds* holds;
  bool pinned;
  struct ring_lease* next; /* in one of the lists of `holds` */
} ring_lease;

/* Leases that wait until the GPU has passed a mark. */
typedef struct marked {
  struct marked* next;
  ring_lease* leases;
  bwpy_pin_mark mark;
} marked;

struct bwpy_holds {
  atomic_size_t holders;
  void* owner;
  _Atomic(ring_lease*) dirty;   /* an edited view could not be dropped */
  _Atomic(bw_error*) broken;    /* the first slice found broken at its release */
  bwpy_pin pin;
  pthread_mutex_t lock;         /* guards `ended` and `closed`; held for moments only */
  ring_lease* ended;            /* let go, not marked yet */
  bool closed;
  marked* oldest;               /* of the thread that takes steps */
  marked** newest;
};

/* A step's slices copied to memory of our own. */
typedef struct {
  bwpy_lease base;
  uint8_t* bytes;
} copied_lease;

bwpy_holds* bwpy_holds_new(void* owner) {
  bwpy_holds* holds = calloc(1, sizeof *holds);
  if (holds == NULL || pthread_mutex_init(&holds->lock, NULL) != 0) {
    free(holds);
    return NULL;
  }
  holds->owner = owner;
  atomic_init(&holds->holders, 1);
  atomic_init(&holds->dirty, NULL);
  atomic_init(&holds->broken, NULL);
  holds->newest = &holds->oldest;
  return holds;
}

void bwpy_holds_drop(bwpy_holds* holds) {
  if (atomic_fetch_sub(&holds->holders, 1) == 1) {
    pthread_mutex_destroy(&holds->lock);
    free(atomic_load(&holds->broken));
    free(holds);
  }
}

void* bwpy_holds_owner(const bwpy_holds* holds) { return holds->owner; }

bwpy_pin* bwpy_holds_pin(bwpy_holds* holds) { return &holds->pin; }

static void ring_lease_free(ring_lease* self) {
  bwpy_holds_drop(self->holds);
  free(self);
}

static void dirty_add(ring_lease* lease) {
  _Atomic(ring_lease*)* first = &lease->holds->dirty;
  lease->next = atomic_load(first);
  while (!atomic_compare_exchange_weak(first, &lease->next, lease)) {
  }
}

static void broken_keep(bwpy_holds* holds, const bw_error* error) {
  bw_error* kept = malloc(sizeof *kept);
  bw_error* none = NULL;
  if (kept != NULL) {
    *kept = *error;
    if (!atomic_compare_exchange_strong(&holds->broken, &none, kept)) {
      free(kept);
    }
  }
}

/* An edited view that cannot be dropped keeps its step: what lies there later would look stale. */
static void release_now(ring_lease* self) {
  bw_error error;
  const bw_status status = bw_release(&self->lease, &error);
  if (status == BW_ERROR_DIRTY) {
    dirty_add(self);
    return;
  }
  if (status == BW_ERROR_CORRUPT) {
    broken_keep(self->holds, &error);
  }
  ring_lease_free(self);
}

static void release_all(ring_lease* first) {
  while (first != NULL) {
    ring_lease* next = first->next;
    release_now(first);
    first = next;
  }
}

/* The GPU may still copy from it: the next flush marks and releases it; after the last one, we wait. */
static void release_after_copies(ring_lease* self) {
  bwpy_holds* holds = self->holds;
  pthread_mutex_lock(&holds->lock);
  const bool closed = holds->closed;
  if (!closed) {
    self->next = holds->ended;
    holds->ended = self;
  }
  pthread_mutex_unlock(&holds->lock);
  if (closed) {
    bwpy_pin_drain(&holds->pin);
    release_now(self);
  }
}

static void ring_lease_end(bwpy_lease* base) {
  ring_lease* self = (ring_lease*)base;
  if (bwpy_lease_inert(base)) {
    ring_lease_free(self);
  } else if (self->pinned) {
    release_after_copies(self);
  } else {
    release_now(self);
  }
}

bwpy_lease* bwpy_hold_in_ring(bwpy_holds* holds, const bw_lease* lease, bw_views views) {
  ring_lease* held = calloc(1, sizeof *held);
  if (held == NULL) {
    return NULL;
  }
  bwpy_lease_start(&held->base, views != BW_VIEWS_SHARED, ring_lease_end);
  held->lease = *lease;
  held->holds = holds;
  held->pinned = views == BW_VIEWS_SHARED_WRITABLE;
  atomic_fetch_add(&holds->holders, 1);
  return &held->base;
}

static ring_lease* take_ended(bwpy_holds* holds, bool close) {
  pthread_mutex_lock(&holds->lock);
  ring_lease* ended = holds->ended;
  holds->ended = NULL;
  holds->closed = holds->closed || close;
  pthread_mutex_unlock(&holds->lock);
  return ended;
}

/* Puts leases behind a mark; where that cannot be had, waits for the device and releases them. */
static void mark_ended(bwpy_holds* holds, ring_lease* ended, uintptr_t stream) {
  marked* made = calloc(1, sizeof *made);
  if (made == NULL || !bwpy_pin_mark_now(&holds->pin, stream, &made->mark)) {
    free(made);
    bwpy_pin_drain(&holds->pin);
    release_all(ended);
    return;
  }
  made->leases = ended;
  *holds->newest = made;
  holds->newest = &made->next;
}

bool bwpy_holds_flush(bwpy_holds* holds, uintptr_t stream, bool wait) {
  bool released = false;
  ring_lease* ended = take_ended(holds, false);
  if (ended != NULL) {
    mark_ended(holds, ended, stream);
  }
  while (holds->oldest != NULL && bwpy_pin_passed(&holds->pin, &holds->oldest->mark, wait)) {
    marked* done = holds->oldest;
    holds->oldest = done->next;
    if (done->next == NULL) {
      holds->newest = &holds->oldest;
    }
    bwpy_pin_forget(&holds->pin, &done->mark);
    release_all(done->leases);
    free(done);
    released = true;
  }
  return released;
}

void bwpy_holds_close(bwpy_holds* holds) {
  ring_lease* ended = take_ended(holds, true);
  if (ended != NULL || holds->oldest != NULL) {
    bwpy_pin_drain(&holds->pin);
    release_all(ended);
    (void)bwpy_holds_flush(holds, 0, true);
  }
}

bw_status bwpy_holds_check(bwpy_holds* holds, bw_error* error) {
  bw_status result = BW_OK;
  ring_lease* each = atomic_exchange(&holds->dirty, NULL);
  while (each != NULL) {
    ring_lease* next = each->next;
    const bw_status status = bw_release(&each->lease, error);
    if (status == BW_ERROR_DIRTY) {
      result = status;
      dirty_add(each);
    } else {
      ring_lease_free(each);
    }
    each = next;
  }
  bw_error* broken = result == BW_OK ? atomic_exchange(&holds->broken, NULL) : NULL;
  if (broken != NULL) {
    *error = *broken;
    free(broken);
    result = error->status;
  }
  return result;
}

static void copied_lease_end(bwpy_lease* base) {
  copied_lease* self = (copied_lease*)base;
  free(self->bytes);
  free(self);
}

bwpy_lease* bwpy_hold_copied(bw_slice* slices, uint32_t count) {
  copied_lease* held = malloc(sizeof *held);
  size_t total = COPY_ALIGNMENT;
  for (uint32_t i = 0; i < count; i++) {
    total += ((size_t)slices[i].length + COPY_ALIGNMENT - 1) / COPY_ALIGNMENT * COPY_ALIGNMENT;
  }
  uint8_t* bytes = held == NULL ? NULL : aligned_alloc(COPY_ALIGNMENT, total);
  if (bytes == NULL) {
    free(held);
    return NULL;
  }
  bwpy_lease_start(&held->base, true, copied_lease_end);
  held->base.owned = true;
  held->bytes = bytes;
  for (uint32_t i = 0; i < count; i++) {
    memcpy(bytes, slices[i].data, (size_t)slices[i].length);
    slices[i].data = bytes;
    bytes += ((size_t)slices[i].length + COPY_ALIGNMENT - 1) / COPY_ALIGNMENT * COPY_ALIGNMENT;
  }
  return &held->base;
}
