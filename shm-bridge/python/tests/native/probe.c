/*
 * A test's own slices: an anonymous mapping with a lease that counts, in place of a ring. Built
 * from the same sources as batchweave._native, and never shipped.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "slices.h"

typedef struct {
  bwpy_lease lease;
  uint8_t* bytes;
  size_t length_bytes;
} probe_lease;

static atomic_long taken;
static atomic_long released;
static atomic_long inert;

/* Reading after this is SIGSEGV: a view that outlives its lease cannot go unseen. */
static void probe_end(bwpy_lease* lease) {
  probe_lease* self = (probe_lease*)lease;
  if (bwpy_lease_inert(lease)) {
    atomic_fetch_add(&inert, 1);
  } else {
    munmap(self->bytes, self->length_bytes);
    atomic_fetch_add(&released, 1);
  }
  free(self);
}

/*
 * Maps `length_bytes` at `shift` bytes behind a page's start, or, with `guard`, so that the first
 * byte behind them is not mapped. Returns where they begin, NULL when there is no memory.
 */
static uint8_t* probe_map(probe_lease* lease, size_t length_bytes, size_t shift, int guard) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const size_t rounded = ((length_bytes + shift) / page + 1) * page;
  lease->length_bytes = rounded + page;
  lease->bytes = mmap(NULL, lease->length_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (lease->bytes == MAP_FAILED || mprotect(lease->bytes + rounded, page, PROT_NONE) != 0 ||
      madvise(lease->bytes, lease->length_bytes, MADV_DONTFORK) != 0) {
    return NULL;
  }
  return guard ? lease->bytes + rounded - length_bytes : lease->bytes + shift;
}

static PyObject* probe_slice(PyObject* module, PyObject* arguments, PyObject* keywords) {
  static char* names[] = {"bytes", "shift", "writable", "guard", NULL};
  Py_buffer bytes;
  int shift = 0;
  int writable = 1;
  int guard = 0;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "y*|ipp", names, &bytes, &shift, &writable,
                                   &guard)) {
    return NULL;
  }
  probe_lease* lease = calloc(1, sizeof *lease);
  uint8_t* data =
      lease == NULL ? NULL : probe_map(lease, (size_t)bytes.len, (size_t)shift, guard);
  if (data == NULL) {
    PyBuffer_Release(&bytes);
    free(lease);
    return PyErr_NoMemory();
  }
  memcpy(data, bytes.buf, (size_t)bytes.len);
  bwpy_lease_start(&lease->lease, writable != 0, probe_end);
  atomic_fetch_add(&taken, 1);
  const bwpy_slice_info info = {.data = data,
                                .length_bytes = (uint64_t)bytes.len,
                                .dp = 2,
                                .cp = 1,
                                .micro_batches = 4,
                                .samples = 5,
                                .tokens = 7,
                                .crc32c = 0xFFFFFFFFu,
                                .step = 9};
  PyBuffer_Release(&bytes);
  PyObject* place = Py_BuildValue("{s:s,s:i}", "stream", "probe", "rank", 3);
  PyObject* slice = place == NULL ? NULL : bwpy_slice_new(&lease->lease, &info, place);
  Py_XDECREF(place);
  bwpy_lease_drop(&lease->lease);
  return slice;
}

static PyObject* probe_counts(PyObject* module, PyObject* nothing) {
  (void)module;
  (void)nothing;
  return Py_BuildValue("(lll)", atomic_load(&taken), atomic_load(&released), atomic_load(&inert));
}

typedef struct {
  void* managed;
  int versioned;
} consumed;

/* Calls the deleter as a consumer's thread would: no GIL, no Python thread state. */
static void* delete_elsewhere(void* argument) {
  const consumed* c = argument;
  const size_t deleter = c->versioned ? 16 : 56;
  void (*call)(void*);
  memcpy(&call, (char*)c->managed + deleter, sizeof call);
  call(c->managed);
  return NULL;
}

static PyObject* probe_consume(PyObject* module, PyObject* capsule) {
  (void)module;
  consumed c = {NULL, PyCapsule_IsValid(capsule, "dltensor_versioned")};
  c.managed = PyCapsule_GetPointer(capsule, c.versioned ? "dltensor_versioned" : "dltensor");
  if (c.managed == NULL ||
      PyCapsule_SetName(capsule, c.versioned ? "used_dltensor_versioned" : "used_dltensor") != 0) {
    return NULL;
  }
  pthread_t thread;
  if (pthread_create(&thread, NULL, delete_elsewhere, &c) != 0) {
    PyErr_SetString(PyExc_RuntimeError, "no thread");
    return NULL;
  }
  pthread_join(thread, NULL); /* this thread keeps the GIL: a deleter that wants it hangs here */
  Py_RETURN_NONE;
}

static PyMethodDef probe_methods[] = {
    {"slice", (PyCFunction)(void (*)(void))probe_slice, METH_VARARGS | METH_KEYWORDS,
     "slice(bytes, shift=0, writable=True, guard=False) -> Slice"},
    {"counts", probe_counts, METH_NOARGS, "counts() -> (taken, released, inert)"},
    {"consume", probe_consume, METH_O, "consume(capsule): deletes it on a thread without Python."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef probe_module = {
    PyModuleDef_HEAD_INIT, "batchweave_probe", NULL, -1, probe_methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_batchweave_probe(void) {
  PyObject* module = PyModule_Create(&probe_module);
  if (module != NULL && (bwpy_watch_forks() != 0 || bwpy_slices_init(module) != 0)) {
    Py_CLEAR(module);
  }
  return module;
}
