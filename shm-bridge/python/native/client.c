#include "batchweave.h"

#include "client.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "holds.h"
#include "lease.h"
#include "slices.h"

#define NS_PER_S 1e9

static PyTypeObject* client_type;

typedef struct client_object {
  PyObject_HEAD
  struct client_object* next_open; /* in the list of open clients */
  bw_client* client;        /* NULL once closed */
  bwpy_holds* holds;
  bw_info info;             /* as of the last look */
  unsigned long forks;
  atomic_bool closing;      /* a thread asked to close while another one waits */
  bool busy;                /* a thread is inside the C client; guarded by the GIL */
  bool copies;
  bool pins;                /* registers its rings with the GPU */
  bool pin_required;
  uintptr_t stream_handle;  /* CUDA stream that the caller copies on; 0: the default one */
  PyObject* stream;
  PyObject* rank;
  PyObject* place;          /* both, for the errors of slices */
  PyObject* notice;
} client_object;

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

/* ---- errors ---- */

static PyObject* place_of(const client_object* self, int64_t step) {
  return step < 0 ? Py_BuildValue("{s:O,s:O}", "stream", self->stream, "rank", self->rank)
                  : Py_BuildValue("{s:O,s:O,s:L}", "stream", self->stream, "rank", self->rank,
                                  "step", (long long)step);
}

/* Puts `value`, whose reference it takes, into `facts`; false when that failed. */
static bool add_fact(PyObject* facts, const char* name, PyObject* value) {
  const bool added = value != NULL && PyDict_SetItemString(facts, name, value) == 0;
  Py_XDECREF(value);
  return added;
}

static PyObject* text_fact(const char* text) {
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

/* Where an error happened and what is known about it. */
static PyObject* facts_of(const client_object* self, const bw_error* error) {
  PyObject* facts = place_of(self, error->step);
  if (facts != NULL &&
      ((error->object[0] != '\0' && !add_fact(facts, "object", text_fact(error->object))) ||
       (error->attempts > 0 &&
        !add_fact(facts, "attempts", PyLong_FromLong(error->attempts))) ||
       (error->told[0] != '\0' && !add_fact(facts, "status", text_fact(error->told))))) {
    Py_CLEAR(facts);
  }
  return facts;
}

/* Raises what batchweave.errors makes of a status. Returns NULL. */
static PyObject* raise_status(const client_object* self, bw_status status, const bw_error* error) {
  if (status == BW_ERROR_INTERRUPTED && PyErr_Occurred()) {
    return NULL; /* a signal handler raised */
  }
  PyObject* errors = PyImport_ImportModule("batchweave.errors");
  PyObject* make = errors == NULL ? NULL : PyObject_GetAttrString(errors, "from_status");
  PyObject* place = make == NULL ? NULL : facts_of(self, error);
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

/* Fails because the ring could not be registered? Then that is what to say. */
static PyObject* raise_unpinned(const client_object* self, bw_status status,
                                const bw_error* error) {
  const bwpy_pin* pin = bwpy_holds_pin(self->holds);
  if (!self->pin_required || status != BW_ERROR_ARGUMENT || pin->why[0] == '\0') {
    return raise_status(self, status, error);
  }
  PyObject* place = place_of(self, -1);
  if (place != NULL) {
    (void)bwpy_raise("NotSupported", place, "pin=True is not possible here: %s; use pin='auto'",
                     pin->why);
    Py_DECREF(place);
  }
  return NULL;
}

static PyObject* raise_own(const client_object* self, bw_status status, const char* text) {
  bw_error error;
  (void)bw_fail(&error, status, "%s", text);
  return raise_status(self, status, &error);
}

static int check_released(const client_object* self) {
  bw_error error;
  const bw_status status = bwpy_holds_check(self->holds, &error);
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
  client_object* self = bwpy_holds_owner(context);
  if (self->pins) {
    (void)bwpy_holds_flush(self->holds, self->stream_handle, false);
  }
  if (atomic_load(&self->closing)) {
    return true;
  }
  const PyGILState_STATE state = PyGILState_Ensure();
  const bool raised = PyErr_CheckSignals() != 0;
  PyGILState_Release(state);
  return raised;
}

static void notice(client_object* self, const char* line) {
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

static void on_notice(void* context, const char* line) {
  notice(bwpy_holds_owner(context), line);
}

/* False: the client maps the ring another way, or fails where the caller insists. */
static bool on_mapped(void* context, void* base, size_t length) {
  client_object* self = bwpy_holds_owner(context);
  bwpy_pin* pin = bwpy_holds_pin(context);
  const bool registered = bwpy_pin_register(pin, base, length);
  if (!registered && !self->pin_required) {
    char line[400];
    snprintf(line, sizeof line, "batchweave: pin=False, because %s", pin->why);
    notice(self, line);
  }
  return registered;
}

/* On whatever thread let the last step go, with or without Python. */
static bool on_unmapping(void* context, void* base, size_t length) {
  return bwpy_pin_unregister(bwpy_holds_pin(context), base, length);
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

static PyObject* slices_tuple(client_object* self, const bw_lease* lease, bwpy_lease* held,
                              const bw_slice* slices) {
  PyObject* all = PyTuple_New((Py_ssize_t)lease->own_count);
  for (uint32_t i = 0; all != NULL && i < lease->own_count; i++) {
    const bwpy_slice_info info = {.data = slices[i].data,
                                  .length_bytes = slices[i].length,
                                  .dp = slices[i].dp,
                                  .cp = slices[i].cp,
                                  .micro_batches = slices[i].micro_batches,
                                  .samples = slices[i].samples,
                                  .tokens = slices[i].tokens,
                                  .crc32c = slices[i].crc32c,
                                  .step = lease->step};
    PyObject* slice = bwpy_slice_new(held, &info, self->place);
    if (slice == NULL || PyTuple_SetItem(all, (Py_ssize_t)i, slice) != 0) {
      Py_CLEAR(all);
    }
  }
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
                     : self->copies ? bwpy_hold_copied(slices, lease->own_count)
                                    : bwpy_hold_in_ring(self->holds, lease, self->info.views);
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
    if (self->pins) {
      bwpy_holds_close(self->holds);
    }
    bw_close(client);
    Py_END_ALLOW_THREADS
  }
}

/* What a caller gets whose reader was closed by another thread while it waited. */
static PyObject* closed_meanwhile(client_object* self) {
  close_now(self);
  return raise_own(self, BW_ERROR_CLOSED, "this reader was closed by another thread");
}

/* The call that another thread closed the reader under has succeeded: the next one says CLOSED. */
static void close_if_asked(client_object* self) {
  if (atomic_load(&self->closing)) {
    close_now(self);
  }
}

/* bw_next, with the releases that wait for the GPU on the way. */
static bw_status next_step(client_object* self, double seconds, bw_lease* lease, bw_error* error) {
  const int64_t deadline_ns = bw_deadline_ns(timeout_ns(seconds));
  int64_t left_ns = timeout_ns(seconds);
  if (self->pins) {
    (void)bwpy_holds_flush(self->holds, self->stream_handle, false);
  }
  for (;;) {
    const bw_status status = bw_next(self->client, left_ns, lease, error);
    if (status != BW_ERROR_RING_HELD || !self->pins ||
        !bwpy_holds_flush(self->holds, self->stream_handle, true)) {
      return status; /* else: copies were in the way, not the caller */
    }
    const int64_t now_ns = bw_now_ns();
    left_ns = left_ns < 0 ? left_ns : deadline_ns > now_ns ? deadline_ns - now_ns : 0;
  }
}

static PyObject* client_next(PyObject* object, PyObject* arguments) {
  client_object* self = (client_object*)object;
  double seconds = 0;
  unsigned long long stream = 0;
  if (!PyArg_ParseTuple(arguments, "d|K", &seconds, &stream) || check_usable(self) != 0) {
    return NULL;
  }
  bw_lease lease;
  bw_error error;
  bw_status status;
  bw_error_clear(&error);
  self->stream_handle = (uintptr_t)stream;
  self->busy = true;
  Py_BEGIN_ALLOW_THREADS
  status = next_step(self, seconds, &lease, &error);
  Py_END_ALLOW_THREADS
  look(self);
  self->busy = false;
  if (status == BW_OK) {
    PyObject* step = step_of(self, &lease);
    close_if_asked(self);
    return step;
  }
  if (atomic_load(&self->closing)) {
    return closed_meanwhile(self);
  }
  if (status == BW_END_OF_STREAM) {
    Py_RETURN_NONE;
  }
  return raise_unpinned(self, status, &error);
}

/* Runs a question to the daemon without the GIL; true when it was answered. */
static bool answered(client_object* self, bw_status status, const bw_error* error) {
  self->busy = false;
  if (status == BW_OK) {
    close_if_asked(self);
    return true;
  }
  if (atomic_load(&self->closing)) {
    (void)closed_meanwhile(self);
  } else {
    (void)raise_status(self, status, error);
  }
  return false;
}

static PyObject* client_checkpointed(PyObject* object, PyObject* arguments) {
  client_object* self = (client_object*)object;
  const char* id = NULL;
  long long next_step = 0;
  unsigned keep = 0;
  double seconds = 0;
  if (!PyArg_ParseTuple(arguments, "sLId", &id, &next_step, &keep, &seconds) ||
      check_usable(self) != 0) {
    return NULL;
  }
  bw_error error;
  bw_status status;
  bw_error_clear(&error);
  self->busy = true;
  Py_BEGIN_ALLOW_THREADS
  status = bw_checkpointed(self->client, id, next_step, keep, timeout_ns(seconds), &error);
  Py_END_ALLOW_THREADS
  if (!answered(self, status, &error)) {
    return NULL;
  }
  Py_RETURN_NONE;
}

static PyObject* client_status(PyObject* object, PyObject* argument) {
  client_object* self = (client_object*)object;
  const double seconds = PyFloat_AsDouble(argument);
  if (PyErr_Occurred() || check_usable(self) != 0) {
    return NULL;
  }
  bw_error error;
  bw_status status;
  bw_stream_status stream = {0};
  bw_error_clear(&error);
  self->busy = true;
  Py_BEGIN_ALLOW_THREADS
  status = bw_stream_status_of(self->client, timeout_ns(seconds), &stream, &error);
  Py_END_ALLOW_THREADS
  if (!answered(self, status, &error)) {
    return NULL;
  }
  return Py_BuildValue("{s:L,s:L,s:L,s:L,s:N}", "next_step", (long long)stream.next_step, "horizon",
                       (long long)stream.horizon, "start_step", (long long)stream.start_step,
                       "session_steps", (long long)stream.session_steps, "sealed",
                       PyBool_FromLong(stream.sealed));
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
  if (self->holds != NULL) {
    bw_error error;
    if (self->forks == bwpy_forks) {
      (void)bwpy_holds_check(self->holds, &error);
    }
    bwpy_holds_drop(self->holds);
  }
  Py_XDECREF(self->stream);
  Py_XDECREF(self->rank);
  Py_XDECREF(self->place);
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
  self->holds = bwpy_holds_new(self);
  self->place = self->stream == NULL ? NULL : place_of(self, -1);
  if (self->place == NULL || self->holds == NULL) {
    Py_DECREF((PyObject*)self);
    PyErr_NoMemory();
    return NULL;
  }
  return self;
}

/* bw_attach with the GIL released; the client object is made first, for its callbacks. */
static PyObject* attach_with(client_object* self, bw_options* options, double deadline_s) {
  bw_error error;
  bw_status status;
  bw_error_clear(&error);
  options->context = self->holds;
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
    (void)raise_unpinned(self, status, &error);
    Py_DECREF((PyObject*)self);
    return NULL;
  }
  return (PyObject*)self;
}

/*
 * Binds the runtime that the ring is to be registered with. Without one the rings are mapped as
 * always; where the caller insists it is an error. A forked child must not touch CUDA.
 */
static int pin_with(client_object* self, bw_options* options, const char* library,
                    Py_ssize_t chunk_bytes) {
  bwpy_pin* pin = bwpy_holds_pin(self->holds);
  if (bwpy_forks != 0) {
    snprintf(pin->why, sizeof pin->why, "this process was forked: CUDA cannot be used in it");
  } else if (bwpy_pin_bind(pin, library, (size_t)chunk_bytes)) {
    self->pins = true;
    options->views = BW_VIEWS_SHARED_WRITABLE;
    options->views_required = self->pin_required;
    options->mapped = on_mapped;
    options->unmapping = on_unmapping;
    return 0;
  }
  if (self->pin_required) {
    bw_error error;
    (void)raise_unpinned(self, BW_ERROR_ARGUMENT, &error);
    return -1;
  }
  char line[400];
  snprintf(line, sizeof line, "batchweave: pin=False, because %s", pin->why);
  notice(self, line);
  return 0;
}

PyObject* bwpy_attach(PyObject* module, PyObject* arguments, PyObject* keywords) {
  static char* names[] = {"directory",      "stream", "group", "session",    "rank",
                          "dp",             "dp_size", "cp",   "cp_size",    "local_readers",
                          "token",          "next_step", "view_version", "refuse_if_live", "views",
                          "check",          "deadline_s", "notice", "check_at_release", "pin_library",
                          "pin_required",   "pin_chunk_bytes", NULL};
  static const bw_views views_of[] = {BW_VIEWS_PRIVATE, BW_VIEWS_SHARED, BW_VIEWS_COPY};
  bw_options options;
  PyObject* rank = NULL;
  PyObject* on_line = NULL;
  Py_ssize_t token_length = 0;
  long long next_step = 0;
  long long view_version = 0;
  int refuse_if_live = 0;
  int views = 0;
  int check = 0;
  int check_at_release = 0;
  const char* pin_library = NULL;
  int pin_required = 0;
  Py_ssize_t pin_chunk_bytes = 0;
  double deadline_s = 0;
  (void)module;
  bw_options_init(&options);
  if (!PyArg_ParseTupleAndKeywords(
          arguments, keywords, "$zsssOIIIIIz#LLpipdOpzpn", names, &options.directory, &options.stream,
          &options.group, &options.session, &rank, &options.dp, &options.dp_size, &options.cp,
          &options.cp_size, &options.local_readers, (const char**)&options.token, &token_length,
          &next_step, &view_version, &refuse_if_live, &views, &check, &deadline_s, &on_line,
          &check_at_release, &pin_library, &pin_required, &pin_chunk_bytes)) {
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
  options.view_version = view_version;
  options.refuse_if_live = refuse_if_live != 0;
  options.views = views_of[views];
  options.check_on_take = check != 0;
  options.check_on_release = check_at_release != 0;
  client_object* self = client_blank(options.stream, rank, on_line);
  if (self == NULL) {
    return NULL;
  }
  self->pin_required = pin_required != 0;
  if (pin_library != NULL && pin_with(self, &options, pin_library, pin_chunk_bytes) != 0) {
    Py_DECREF((PyObject*)self);
    return NULL;
  }
  return attach_with(self, &options, deadline_s);
}

static PyMethodDef client_methods[] = {
    {"next", client_next, METH_VARARGS,
     "next($self, deadline_s, stream=0, /)\n--\n\n(step, next_step, slices), or None at the end: waits "
     "without the GIL."},
    {"info", client_info, METH_NOARGS, 
     "info($self, /)\n--\n\nAs of now; as of the last look once closed or while a thread waits."},
    {"checkpointed", client_checkpointed, METH_VARARGS,
     "checkpointed($self, id, next_step, keep, deadline_s, /)\n--\n\n"
     "Registers a checkpoint: waits without the GIL."},
    {"status", client_status, METH_O, 
     "status($self, deadline_s, /)\n--\n\nWhat the daemon knows of the session: waits without the GIL."},
    {"close", client_close, METH_NOARGS, 
     "close($self, /)\n--\n\nDetaches; from any thread, more than once."},
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
