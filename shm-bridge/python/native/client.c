#include "batchweave.h"

#include "client.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lease.h"
#include "slices.h"

#define COPY_ALIGNMENT 64
#define NS_PER_S 1e9

static PyTypeObject* client_type;

struct ring_lease;

/*
 * Steps whose release failed, for the next call to try again: deleters cannot raise. Shared by the
 * client and its leases, whichever lives longer.
 */
typedef struct {
  atomic_size_t holders;
  _Atomic(struct ring_lease*) first;
} unreleased;

typedef struct client_object {
  PyObject_HEAD
  struct client_object* next_open; /* in the list of open clients */
  bw_client* client;        /* NULL once closed */
  unreleased* unreleased;
  bw_info info;             /* as of the last look */
  unsigned long forks;
  atomic_bool closing;      /* a thread asked to close while another one waits */
  bool busy;                /* a thread is inside the C client; guarded by the GIL */
  bool copies;
  PyObject* stream;
  PyObject* rank;
  PyObject* notice;
} client_object;

/* The hold on one step of the ring. */
typedef struct ring_lease {
  bwpy_lease base;
  bw_lease lease;
  unreleased* unreleased;
  struct ring_lease* next; /* in the list of the unreleased */
} ring_lease;

/* A step's slices copied to memory of our own. */
typedef struct {
  bwpy_lease base;
  uint8_t* bytes;
} copied_lease;

/*
 * Open clients, for the child of a fork: it closes the descriptors that it inherited, one of which
 * may carry the lock of a reader file that is being made. Nobody who has the lock waits for the GIL.
 */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static client_object* open_clients;

static void before_fork(void) { pthread_mutex_lock(&open_lock); }

static void after_fork(void) { pthread_mutex_unlock(&open_lock); }

static void after_fork_child(void) {
  for (client_object* each = open_clients; each != NULL; each = each->next_open) {
    bw_after_fork_child(each->client);
  }
  open_clients = NULL;
  pthread_mutex_unlock(&open_lock);
}

static void open_add(client_object* self) {
  pthread_mutex_lock(&open_lock);
  self->next_open = open_clients;
  open_clients = self;
  pthread_mutex_unlock(&open_lock);
}

static void open_remove(client_object* self) {
  pthread_mutex_lock(&open_lock);
  client_object** link = &open_clients;
  while (*link != NULL && *link != self) {
    link = &(*link)->next_open;
  }
  if (*link != NULL) {
    *link = self->next_open;
  }
  pthread_mutex_unlock(&open_lock);
}

static void unreleased_drop(unreleased* u) {
  if (atomic_fetch_sub(&u->holders, 1) == 1) {
    free(u);
  }
}

static void ring_lease_free(ring_lease* self) {
  unreleased_drop(self->unreleased);
  free(self);
}

static void unreleased_add(ring_lease* lease) {
  _Atomic(struct ring_lease*)* first = &lease->unreleased->first;
  lease->next = atomic_load(first);
  while (!atomic_compare_exchange_weak(first, &lease->next, lease)) {
  }
}

/* An edited view that cannot be dropped keeps its step: what lies there later would look stale. */
static void ring_lease_end(bwpy_lease* base) {
  ring_lease* self = (ring_lease*)base;
  if (!bwpy_lease_inert(base) && bw_release(&self->lease, NULL) == BW_ERROR_DIRTY) {
    unreleased_add(self);
  } else {
    ring_lease_free(self);
  }
}

/* Tries all of them once more; BW_OK when none is left, else `error` says why. */
static bw_status release_again(unreleased* u, bw_error* error) {
  bw_status result = BW_OK;
  ring_lease* each = atomic_exchange(&u->first, NULL);
  while (each != NULL) {
    ring_lease* next = each->next;
    const bw_status status = bw_release(&each->lease, error);
    if (status == BW_ERROR_DIRTY) {
      result = status;
      unreleased_add(each);
    } else {
      ring_lease_free(each);
    }
    each = next;
  }
  return result;
}

static void copied_lease_end(bwpy_lease* base) {
  copied_lease* self = (copied_lease*)base;
  free(self->bytes);
  free(self);
}

/* ---- errors ---- */

static PyObject* place_of(const client_object* self, int64_t step) {
  return step < 0 ? Py_BuildValue("{s:O,s:O}", "stream", self->stream, "rank", self->rank)
                  : Py_BuildValue("{s:O,s:O,s:L}", "stream", self->stream, "rank", self->rank,
                                  "step", (long long)step);
}

/* Raises what batchweave.errors makes of a status. Returns NULL. */
static PyObject* raise_status(const client_object* self, bw_status status, const bw_error* error) {
  if (status == BW_ERROR_INTERRUPTED && PyErr_Occurred()) {
    return NULL; /* a signal handler raised */
  }
  PyObject* errors = PyImport_ImportModule("batchweave.errors");
  PyObject* make = errors == NULL ? NULL : PyObject_GetAttrString(errors, "from_status");
  PyObject* place = make == NULL ? NULL : place_of(self, error->step);
  PyObject* made =
      place == NULL
          ? NULL
          : PyObject_CallFunction(make, "ssiiLIO", bw_status_name(status), error->text,
                                  error->refused_code, error->system_errno, (long long)error->bytes,
                                  (unsigned)self->info.leases, place);
  if (made != NULL) {
    PyErr_SetObject((PyObject*)Py_TYPE(made), made);
  }
  Py_XDECREF(made);
  Py_XDECREF(place);
  Py_XDECREF(make);
  Py_XDECREF(errors);
  return NULL;
}

static PyObject* raise_own(const client_object* self, bw_status status, const char* text) {
  bw_error error;
  (void)bw_fail(&error, status, "%s", text);
  return raise_status(self, status, &error);
}

static int check_released(const client_object* self) {
  bw_error error;
  if (atomic_load(&self->unreleased->first) == NULL) {
    return 0;
  }
  const bw_status status = release_again(self->unreleased, &error);
  if (status != BW_OK) {
    (void)raise_status(self, status, &error);
    return -1;
  }
  return 0;
}

static int check_usable(client_object* self) {
  if (self->forks != bwpy_forks) {
    (void)raise_own(self, BW_ERROR_FORKED,
                    "this reader was attached before a fork and is inert in the child: attach in "
                    "the process that reads");
    return -1;
  }
  if (self->client == NULL) {
    (void)raise_own(self, BW_ERROR_CLOSED, "this reader is closed: attach again");
    return -1;
  }
  if (self->busy) {
    (void)raise_own(self, BW_ERROR_ARGUMENT,
                    "another thread is inside this reader: one thread at a time");
    return -1;
  }
  return check_released(self);
}

/* ---- callbacks of the C client, called without the GIL on the waiting thread ---- */

static bool on_interrupted(void* context) {
  client_object* self = context;
  if (atomic_load(&self->closing)) {
    return true;
  }
  const PyGILState_STATE state = PyGILState_Ensure();
  const bool raised = PyErr_CheckSignals() != 0;
  PyGILState_Release(state);
  return raised;
}

static void on_notice(void* context, const char* line) {
  client_object* self = context;
  const PyGILState_STATE state = PyGILState_Ensure();
  if (self->notice != Py_None) {
    PyObject* done = PyObject_CallFunction(self->notice, "s", line);
    if (done == NULL) {
      PyErr_WriteUnraisable(self->notice);
    }
    Py_XDECREF(done);
  }
  PyGILState_Release(state);
}

/* ---- taking a step ---- */

/* Negative: none. */
static int64_t timeout_ns(double seconds) {
  return seconds < 0 || seconds * NS_PER_S >= 9.2e18 ? -1 : (int64_t)(seconds * NS_PER_S);
}

/* Refreshes what info() shows; a client that is not attached keeps what it showed. */
static void look(client_object* self) {
  bw_info info = {0};
  if (bw_info_of(self->client, &info, NULL) == BW_OK) {
    self->info = info;
    self->copies = info.views == BW_VIEWS_COPY;
  }
}

static bwpy_lease* hold_in_ring(client_object* self, const bw_lease* lease) {
  ring_lease* held = malloc(sizeof *held);
  if (held != NULL) {
    bwpy_lease_start(&held->base, self->info.views != BW_VIEWS_SHARED, ring_lease_end);
    held->lease = *lease;
    held->unreleased = self->unreleased;
    atomic_fetch_add(&self->unreleased->holders, 1);
  }
  return held == NULL ? NULL : &held->base;
}

/* Copies this rank's slices next to each other and points `slices` there. */
static bwpy_lease* hold_copied(bw_slice* slices, uint32_t count) {
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

static PyObject* slices_tuple(client_object* self, const bw_lease* lease, bwpy_lease* held,
                              const bw_slice* slices) {
  PyObject* place = place_of(self, lease->step);
  PyObject* all = place == NULL ? NULL : PyTuple_New((Py_ssize_t)lease->own_count);
  for (uint32_t i = 0; all != NULL && i < lease->own_count; i++) {
    const bwpy_slice_info info = {.data = slices[i].data,
                                  .length_bytes = slices[i].length,
                                  .dp = slices[i].dp,
                                  .cp = slices[i].cp,
                                  .micro_batches = slices[i].micro_batches,
                                  .samples = slices[i].samples,
                                  .tokens = slices[i].tokens,
                                  .crc32c = slices[i].crc32c};
    PyObject* slice = bwpy_slice_new(held, &info, place);
    if (slice == NULL || PyTuple_SetItem(all, (Py_ssize_t)i, slice) != 0) {
      Py_CLEAR(all);
    }
  }
  Py_XDECREF(place);
  return all;
}

/* This rank's slices; NULL with `error` filled, or empty where there is no memory. */
static bw_slice* own_slices(client_object* self, const bw_lease* lease, bw_error* error) {
  bw_slice* slices = malloc((lease->own_count + 1u) * sizeof *slices);
  for (uint32_t i = 0; slices != NULL && i < lease->own_count; i++) {
    if (bw_own_slice(self->client, lease, i, &slices[i], error) != BW_OK) {
      free(slices);
      return NULL;
    }
  }
  return slices;
}

/* Makes the Python objects of a step; whatever happens, the lease is theirs or given back. */
static PyObject* step_of(client_object* self, bw_lease* lease) {
  bw_error error;
  bw_error_clear(&error);
  bw_slice* slices = own_slices(self, lease, &error);
  bwpy_lease* held = slices == NULL ? NULL
                     : self->copies ? hold_copied(slices, lease->own_count)
                                    : hold_in_ring(self, lease);
  const bw_lease taken = *lease;
  if (held == NULL || self->copies) {
    bw_error late;
    const bw_status status = bw_release(lease, &late);
    error = error.status == BW_OK && status < 0 ? late : error;
  }
  PyObject* all = NULL;
  if (error.status < 0) {
    (void)raise_status(self, error.status, &error);
  } else if (held == NULL) {
    PyErr_NoMemory();
  } else {
    all = slices_tuple(self, &taken, held, slices);
  }
  free(slices);
  if (held != NULL) {
    bwpy_lease_drop(held);
  }
  return all == NULL ? NULL
                     : Py_BuildValue("(LLN)", (long long)taken.step, (long long)taken.next_step,
                                     all);
}

static void close_now(client_object* self) {
  bw_client* client = self->client;
  if (client != NULL && self->forks == bwpy_forks) {
    open_remove(self);
    self->client = NULL;
    Py_BEGIN_ALLOW_THREADS
    bw_close(client);
    Py_END_ALLOW_THREADS
  }
}

/* What a caller gets whose reader was closed by another thread while it waited. */
static PyObject* closed_meanwhile(client_object* self) {
  close_now(self);
  return raise_own(self, BW_ERROR_CLOSED, "this reader was closed by another thread");
}

static PyObject* client_next(PyObject* object, PyObject* argument) {
  client_object* self = (client_object*)object;
  const double seconds = PyFloat_AsDouble(argument);
  if (PyErr_Occurred() || check_usable(self) != 0) {
    return NULL;
  }
  bw_lease lease;
  bw_error error;
  bw_status status;
  bw_error_clear(&error);
  self->busy = true;
  Py_BEGIN_ALLOW_THREADS
  status = bw_next(self->client, timeout_ns(seconds), &lease, &error);
  look(self);
  Py_END_ALLOW_THREADS
  self->busy = false;
  if (status == BW_OK) {
    return step_of(self, &lease);
  }
  if (atomic_load(&self->closing)) {
    return closed_meanwhile(self);
  }
  if (status == BW_END_OF_STREAM) {
    Py_RETURN_NONE;
  }
  return raise_status(self, status, &error);
}

static PyObject* client_close(PyObject* object, PyObject* nothing) {
  client_object* self = (client_object*)object;
  (void)nothing;
  if (self->busy) {
    atomic_store(&self->closing, true); /* the waiting thread closes within 100 ms */
  } else {
    close_now(self);
  }
  if (self->forks == bwpy_forks && check_released(self) != 0) {
    return NULL;
  }
  Py_RETURN_NONE;
}

static PyObject* hex_of(const uint64_t words[2]) {
  char text[33];
  snprintf(text, sizeof text, "%016llx%016llx", (unsigned long long)words[0],
           (unsigned long long)words[1]);
  return PyUnicode_FromString(text);
}

static PyObject* client_info(PyObject* object, PyObject* nothing) {
  static const char* const views[] = {"view", "shared", "pinned", "copy"};
  client_object* self = (client_object*)object;
  const bw_info* info = &self->info;
  (void)nothing;
  if (self->client != NULL && !self->busy && self->forks == bwpy_forks) {
    look(self);
  }
  return Py_BuildValue(
      "{s:L,s:N,s:L,s:I,s:I,s:I,s:K,s:N,s:I,s:I,s:K,s:s,s:I}",
      "next_step", (long long)info->next_step,
      "stream_id", hex_of(info->stream_id),
      "view_version", (long long)info->view_version,
      "grid_dp", info->grid_dp,
      "grid_cp", info->grid_cp,
      "ring_number", info->ring_number,
      "generation", (unsigned long long)info->generation,
      "generation_id", hex_of(info->generation_id),
      "hold", info->hold,
      "held_steps", info->leases,
      "ring_length_bytes", (unsigned long long)info->ring_length,
      "views", views[info->views],
      "attachments", info->attachments);
}

static void client_dealloc(PyObject* object) {
  client_object* self = (client_object*)object;
  PyTypeObject* type = Py_TYPE(object);
  close_now(self);
  if (self->unreleased != NULL) {
    bw_error error;
    if (self->forks == bwpy_forks) {
      (void)release_again(self->unreleased, &error);
    }
    unreleased_drop(self->unreleased);
  }
  Py_XDECREF(self->stream);
  Py_XDECREF(self->rank);
  Py_XDECREF(self->notice);
  PyObject_Free(object);
  Py_DECREF(type);
}

/* ---- attaching ---- */

static client_object* client_blank(const char* stream, PyObject* rank, PyObject* notice) {
  client_object* self = PyObject_New(client_object, client_type);
  if (self == NULL) {
    return NULL;
  }
  memset((char*)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
  self->forks = bwpy_forks;
  self->stream = PyUnicode_FromString(stream);
  Py_INCREF(rank);
  self->rank = rank;
  Py_INCREF(notice);
  self->notice = notice;
  self->unreleased = calloc(1, sizeof *self->unreleased);
  if (self->stream == NULL || self->unreleased == NULL) {
    Py_DECREF((PyObject*)self);
    PyErr_NoMemory();
    return NULL;
  }
  atomic_init(&self->unreleased->holders, 1);
  atomic_init(&self->unreleased->first, NULL);
  return self;
}

/* bw_attach with the GIL released; the client object is made first, for its callbacks. */
static PyObject* attach_with(client_object* self, bw_options* options, double deadline_s) {
  bw_error error;
  bw_status status;
  bw_error_clear(&error);
  options->context = self;
  options->notice = on_notice;
  options->interrupted = on_interrupted;
  options->client_kind = 2;
  Py_BEGIN_ALLOW_THREADS
  status = bw_attach(options, timeout_ns(deadline_s), &self->client, &error);
  if (status == BW_OK) {
    look(self);
    open_add(self);
  }
  Py_END_ALLOW_THREADS
  if (status != BW_OK) {
    self->client = NULL;
    (void)raise_status(self, status, &error);
    Py_DECREF((PyObject*)self);
    return NULL;
  }
  return (PyObject*)self;
}

PyObject* bwpy_attach(PyObject* module, PyObject* arguments, PyObject* keywords) {
  static char* names[] = {"directory",      "stream", "group", "session",    "rank",
                          "dp",             "dp_size", "cp",   "cp_size",    "local_readers",
                          "token",          "next_step", "refuse_if_live", "views", "check",
                          "deadline_s",     "notice", NULL};
  static const bw_views views_of[] = {BW_VIEWS_PRIVATE, BW_VIEWS_SHARED, BW_VIEWS_COPY};
  bw_options options;
  PyObject* rank = NULL;
  PyObject* notice = NULL;
  Py_ssize_t token_length = 0;
  long long next_step = 0;
  int refuse_if_live = 0;
  int views = 0;
  int check = 0;
  double deadline_s = 0;
  (void)module;
  bw_options_init(&options);
  if (!PyArg_ParseTupleAndKeywords(
          arguments, keywords, "$zsssOIIIIIz#LpipdO", names, &options.directory, &options.stream,
          &options.group, &options.session, &rank, &options.dp, &options.dp_size, &options.cp,
          &options.cp_size, &options.local_readers, (const char**)&options.token, &token_length,
          &next_step, &refuse_if_live, &views, &check, &deadline_s, &notice)) {
    return NULL;
  }
  if (views < 0 || views > 2) {
    PyErr_SetString(PyExc_ValueError, "views is 0, 1 or 2");
    return NULL;
  }
  options.rank = rank == Py_None ? -1 : (int32_t)PyLong_AsLong(rank);
  if (PyErr_Occurred()) {
    return NULL;
  }
  options.token_length = (size_t)token_length;
  options.next_step = next_step;
  options.refuse_if_live = refuse_if_live != 0;
  options.views = views_of[views];
  options.check_on_take = check != 0;
  client_object* self = client_blank(options.stream, rank, notice);
  return self == NULL ? NULL : attach_with(self, &options, deadline_s);
}

static PyMethodDef client_methods[] = {
    {"next", client_next, METH_O,
     "next(deadline_s) -> (step, next_step, slices) | None: waits without the GIL."},
    {"info", client_info, METH_NOARGS, "info() -> dict: as of now; as of the last look once closed or while a thread waits."},
    {"close", client_close, METH_NOARGS, "close(): detaches; from any thread, more than once."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot client_slots[] = {
    {Py_tp_doc, "One attachment to the node daemon; use batchweave.Reader."},
    {Py_tp_dealloc, client_dealloc},
    {Py_tp_methods, client_methods},
    {0, NULL}};

static PyType_Spec client_spec = {"batchweave._native.Client", sizeof(client_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                                      Py_TPFLAGS_IMMUTABLETYPE,
                                  client_slots};

int bwpy_client_init(PyObject* module) {
  const int error = pthread_atfork(before_fork, after_fork, after_fork_child);
  if (error != 0) {
    PyErr_Format(PyExc_ImportError, "pthread_atfork failed: %s", strerror(error));
    return -1;
  }
  client_type = (PyTypeObject*)PyType_FromSpec(&client_spec);
  return client_type == NULL ||
                 PyModule_AddObjectRef(module, "Client", (PyObject*)client_type) != 0
             ? -1
             : 0;
}
