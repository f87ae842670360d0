/*
 * The CUDA runtime that this process has loaded, bound by name: registers a ring so that the GPU
 * copies straight from it, and tells when copies have ended. Plain C: no Python here. Nothing is
 * linked; a process without CUDA never gets here.
 */
#ifndef BATCHWEAVE_PY_PIN_H
#define BATCHWEAVE_PY_PIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bwpy_pin {
  int (*device_count)(int*);
  int (*device)(int*);
  int (*set_device)(int);
  int (*device_synchronize)(void);
  int (*host_register)(void*, size_t, unsigned);
  int (*host_unregister)(void*);
  int (*last_error)(void);
  const char* (*error_text)(int);
  int (*event_create)(void**, unsigned);
  int (*event_record)(void*, void*);
  int (*event_query)(void*);
  int (*event_synchronize)(void*);
  int (*event_destroy)(void*);
  size_t chunk_bytes;
  int rank_device;   /* current on the thread that registered; copies go there */
  char why[256];     /* why the last registration failed; empty: it did not */
} bwpy_pin;

/* A point in the work of the GPU: reached once everything issued before it has been done. */
typedef struct {
  void* events[2];
} bwpy_pin_mark;

/* Binds the runtime at `library`, which must be loaded already. False: `why` says what is missing. */
bool bwpy_pin_bind(bwpy_pin* pin, const char* library, size_t chunk_bytes);

/* Registers [base, base + length) chunk by chunk; all or nothing. False: `why` says. */
bool bwpy_pin_register(bwpy_pin* pin, void* base, size_t length);

/* Takes it back. False: part of it is registered still, and must stay mapped. */
bool bwpy_pin_unregister(bwpy_pin* pin, void* base, size_t length);

/*
 * Marks what was issued to the default stream and to `stream` (0: only the former), on a thread
 * whose device is the rank's. False when the runtime does not want to.
 */
bool bwpy_pin_mark_now(bwpy_pin* pin, uintptr_t stream, bwpy_pin_mark* mark);

/* Whether the GPU has passed the mark; waits for it if asked. A runtime that failed copies no more. */
bool bwpy_pin_passed(bwpy_pin* pin, bwpy_pin_mark* mark, bool wait);

/* Frees what the mark took. */
void bwpy_pin_forget(bwpy_pin* pin, bwpy_pin_mark* mark);

/* Waits for everything issued to the rank's device so far, from any thread. */
void bwpy_pin_drain(bwpy_pin* pin);

#endif
