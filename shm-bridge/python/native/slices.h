/*
 * The Python types Slice and Tensor: the bytes of one grid coordinate of one step, and a tensor in
 * them. Both hold the step's lease for as long as they live.
 */
#ifndef BATCHWEAVE_PY_SLICES_H
#define BATCHWEAVE_PY_SLICES_H

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

#include <stdint.h>

#include "lease.h"

/* What the region's table says of a slice. */
typedef struct bwpy_slice_info {
  uint8_t* data;
  uint64_t length_bytes;
  uint32_t dp;
  uint32_t cp;
  uint32_t micro_batches;
  uint64_t samples;
  uint64_t tokens;
  uint32_t crc32c;
  int64_t step;
} bwpy_slice_info;

/* Readies the types and adds them to the module. Returns 0, or -1 with an exception. */
int bwpy_slices_init(PyObject* module);

/*
 * A new Slice, one more holder of `lease`. `place` is a dict {stream, rank} that its errors carry,
 * with the step; borrowed, and not changed.
 */
PyObject* bwpy_slice_new(bwpy_lease* lease, const bwpy_slice_info* info, PyObject* place);

/*
 * Raises the exception class `name` of batchweave.errors with `message` and the fields of the dict
 * `place` (may be NULL) as keyword arguments. Returns NULL.
 */
PyObject* bwpy_raise(const char* name, PyObject* place, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
