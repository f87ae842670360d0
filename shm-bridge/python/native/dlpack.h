/*
 * What we use of the DLPack 1.x ABI (https://dmlc.github.io/dlpack): a tensor in host memory, as a
 * legacy and as a versioned managed tensor. Offsets are pinned below for 64-bit targets.
 */
#ifndef BATCHWEAVE_PY_DLPACK_H
#define BATCHWEAVE_PY_DLPACK_H

#include <stddef.h>
#include <stdint.h>

enum { BWPY_DL_CPU = 1 };
enum { BWPY_DL_MAJOR = 1, BWPY_DL_MINOR = 1 };
#define BWPY_DL_READ_ONLY ((uint64_t)1)
#define BWPY_DL_COPIED ((uint64_t)2)

typedef struct {
  void* data;
  int32_t device_type;
  int32_t device_id;
  int32_t dimensions;
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
  int64_t* shape;
  int64_t* strides; /* in elements */
  uint64_t byte_offset;
} bwpy_dl_tensor;

typedef struct bwpy_dl_managed {
  bwpy_dl_tensor tensor;
  void* context;
  void (*deleter)(struct bwpy_dl_managed*);
} bwpy_dl_managed;

typedef struct bwpy_dl_versioned {
  uint32_t major;
  uint32_t minor;
  void* context;
  void (*deleter)(struct bwpy_dl_versioned*);
  uint64_t flags;
  bwpy_dl_tensor tensor;
} bwpy_dl_versioned;

_Static_assert(sizeof(void*) == 8, "64-bit only");
_Static_assert(offsetof(bwpy_dl_tensor, device_type) == 8, "device_type");
_Static_assert(offsetof(bwpy_dl_tensor, dimensions) == 16, "dimensions");
_Static_assert(offsetof(bwpy_dl_tensor, code) == 20, "code");
_Static_assert(offsetof(bwpy_dl_tensor, shape) == 24, "shape");
_Static_assert(offsetof(bwpy_dl_tensor, strides) == 32, "strides");
_Static_assert(offsetof(bwpy_dl_tensor, byte_offset) == 40, "byte_offset");
_Static_assert(sizeof(bwpy_dl_tensor) == 48, "tensor");
_Static_assert(offsetof(bwpy_dl_managed, context) == 48, "context");
_Static_assert(offsetof(bwpy_dl_managed, deleter) == 56, "deleter");
_Static_assert(offsetof(bwpy_dl_versioned, context) == 8, "context");
_Static_assert(offsetof(bwpy_dl_versioned, deleter) == 16, "deleter");
_Static_assert(offsetof(bwpy_dl_versioned, flags) == 24, "flags");
_Static_assert(offsetof(bwpy_dl_versioned, tensor) == 32, "tensor");

#endif
