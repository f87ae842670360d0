#include "slices.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batchweave_safetensors.h"
#include "dlpack.h"

#define LEGACY "dltensor"
#define VERSIONED "dltensor_versioned"
#define COPY_ALIGNMENT 64
#define KEPT_HEADER_BYTES ((size_t)1 << 20)

static PyTypeObject* slice_type;
static PyTypeObject* tensor_type;

/* What a header says, shared by all slices of the same length whose headers are the same bytes. */
typedef struct {
  size_t references;              /* guarded by the GIL */
  uint64_t slice_bytes;
  bw_safetensors_table table;
  PyObject** names;               /* of the table's tensors */
  size_t header_bytes;
  uint8_t header[];               /* a copy: the ring's bytes may be changed by another rank */
} header_layout;

/* Of the slice that was looked at last: the next step's is nearly always the same. */
static header_layout* last_layout;

typedef struct {
  PyObject_HEAD
  bwpy_lease* lease;
  bwpy_slice_info info;
  header_layout* layout;          /* NULL until somebody asks for tensors */
  PyObject* place;
} slice_object;

typedef struct {
  PyObject_HEAD
  slice_object* slice;
  PyObject* name;
  bw_safetensors_tensor tensor;   /* name and shape point into the slice's table */
  Py_ssize_t* layout;             /* shape, then strides in bytes: for buffers */
} tensor_object;

static PyObject* raise_text(const char* name, PyObject* place, const char* text) {
  PyObject* errors = PyImport_ImportModule("batchweave.errors");
  PyObject* type = errors == NULL ? NULL : PyObject_GetAttrString(errors, name);
  PyObject* message =
      type == NULL ? NULL : PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
  PyObject* positional = message == NULL ? NULL : PyTuple_Pack(1, message);
  PyObject* error = positional == NULL ? NULL : PyObject_Call(type, positional, place);
  if (error != NULL) {
    PyErr_SetObject(type, error);
  }
  Py_XDECREF(error);
  Py_XDECREF(positional);
  Py_XDECREF(message);
  Py_XDECREF(type);
  Py_XDECREF(errors);
  return NULL;
}

PyObject* bwpy_raise(const char* name, PyObject* place, const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return raise_text(name, place, text);
}

/* The same for something that is wrong with a slice, whose step it says. */
static void raise_of(const slice_object* slice, const char* name, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

static void raise_of(const slice_object* slice, const char* name, const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  PyObject* place = PyDict_Copy(slice->place);
  PyObject* step = place == NULL ? NULL : PyLong_FromLongLong((long long)slice->info.step);
  if (step != NULL && PyDict_SetItemString(place, "step", step) == 0) {
    (void)raise_text(name, place, text);
  }
  Py_XDECREF(step);
  Py_XDECREF(place);
}

/* ---- headers ---- */

static void layout_drop(header_layout* layout) {
  if (layout == NULL || --layout->references > 0) {
    return;
  }
  for (uint32_t i = 0; layout->names != NULL && i < layout->table.count; i++) {
    Py_XDECREF(layout->names[i]);
  }
  free(layout->names);
  bw_safetensors_free(&layout->table);
  free(layout);
}

/* Length of what bw_safetensors_parse reads: the header, or less where that does not fit. */
static size_t header_bytes_of(const bwpy_slice_info* info) {
  uint64_t length = 0;
  if (info->length_bytes < 8) {
    return (size_t)info->length_bytes;
  }
  for (int i = 7; i >= 0; i--) {
    length = length << 8 | info->data[i];
  }
  const bool fits = length <= info->length_bytes - 8 && length <= BW_SAFETENSORS_HEADER_BYTES;
  return fits ? 8 + (size_t)length : 8;
}

static bool layout_fits(const header_layout* layout, const bwpy_slice_info* info) {
  return layout != NULL && layout->slice_bytes == info->length_bytes &&
         memcmp(layout->header, info->data, layout->header_bytes) == 0;
}

/* A copy of the header, not parsed yet; NULL where there is no memory. */
static header_layout* layout_new(const bwpy_slice_info* info) {
  const size_t header_bytes = header_bytes_of(info);
  header_layout* layout = calloc(1, sizeof *layout + header_bytes);
  if (layout != NULL) {
    layout->references = 1;
    layout->slice_bytes = info->length_bytes;
    layout->header_bytes = header_bytes;
    memcpy(layout->header, info->data, header_bytes);
  }
  return layout;
}

static int layout_name(header_layout* layout) {
  layout->names = calloc(layout->table.count + 1u, sizeof *layout->names);
  if (layout->names == NULL) {
    (void)PyErr_NoMemory();
    return -1;
  }
  for (uint32_t i = 0; i < layout->table.count; i++) {
    const bw_safetensors_tensor* tensor = &layout->table.tensors[i];
    layout->names[i] = PyUnicode_DecodeUTF8(tensor->name, tensor->name_bytes, "strict");
    if (layout->names[i] == NULL) {
      return -1;
    }
  }
  return 0;
}

/* ---- managed tensors: one allocation each, freed by a deleter that needs no Python ---- */

typedef struct {
  union {
    bwpy_dl_managed legacy;
    bwpy_dl_versioned versioned;
  } head;
  bwpy_lease* lease;              /* NULL: the bytes are a copy of our own */
  void* copy;
  int64_t layout[];               /* shape, then strides */
} managed;

static void managed_end(managed* m) {
  bwpy_lease* lease = m->lease;
  free(m->copy);
  free(m);
  if (lease != NULL) {
    bwpy_lease_drop(lease);
  }
}

static void delete_legacy(bwpy_dl_managed* self) { managed_end(self->context); }

static void delete_versioned(bwpy_dl_versioned* self) { managed_end(self->context); }

static int fill_bytes(managed* m, const slice_object* slice, const bw_safetensors_tensor* tensor,
                      bool copied, void** data) {
  uint8_t* bytes = slice->info.data + tensor->offset;
  if (!copied) {
    m->lease = bwpy_lease_hold(slice->lease);
    *data = bytes;
    return 0;
  }
  const size_t rounded = (tensor->length_bytes / COPY_ALIGNMENT + 1) * COPY_ALIGNMENT;
  m->copy = aligned_alloc(COPY_ALIGNMENT, rounded);
  if (m->copy == NULL) {
    return -1;
  }
  memcpy(m->copy, bytes, tensor->length_bytes);
  *data = m->copy;
  return 0;
}

static managed* managed_new(const slice_object* slice, const bw_safetensors_tensor* tensor,
                            bool copied, bool versioned) {
  const uint32_t dimensions = tensor->dimensions;
  managed* m = calloc(1, sizeof *m + 2 * dimensions * sizeof(int64_t));
  void* data = NULL;
  if (m == NULL || fill_bytes(m, slice, tensor, copied, &data) != 0) {
    free(m);
    return NULL;
  }
  bwpy_dl_tensor* dl = versioned ? &m->head.versioned.tensor : &m->head.legacy.tensor;
  const bw_safetensors_dtype_info* dtype = bw_safetensors_dtype_of(tensor->dtype);
  dl->data = tensor->length_bytes == 0 ? NULL : data;
  dl->device_type = BWPY_DL_CPU;
  dl->dimensions = (int32_t)dimensions;
  dl->code = dtype->dlpack_code;
  dl->bits = (uint8_t)(8 * dtype->size_bytes);
  dl->lanes = 1;
  dl->shape = m->layout;
  dl->strides = m->layout + dimensions;
  int64_t stride = 1;
  for (uint32_t i = dimensions; i-- > 0;) {
    dl->shape[i] = tensor->shape[i];
    dl->strides[i] = stride;
    stride *= tensor->shape[i] == 0 ? 1 : tensor->shape[i];
  }
  if (versioned) {
    m->head.versioned.major = BWPY_DL_MAJOR;
    m->head.versioned.minor = BWPY_DL_MINOR;
    m->head.versioned.context = m;
    m->head.versioned.deleter = delete_versioned;
    m->head.versioned.flags = (copied ? BWPY_DL_COPIED : 0) |
                              (copied || slice->lease->writable ? 0 : BWPY_DL_READ_ONLY);
  } else {
    m->head.legacy.context = m;
    m->head.legacy.deleter = delete_legacy;
  }
  return m;
}

/* A consumer renames the capsule; under its first name nobody consumed it and the bytes are ours. */
static void capsule_end(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, LEGACY)) {
    bwpy_dl_managed* m = PyCapsule_GetPointer(capsule, LEGACY);
    m->deleter(m);
  } else if (PyCapsule_IsValid(capsule, VERSIONED)) {
    bwpy_dl_versioned* m = PyCapsule_GetPointer(capsule, VERSIONED);
    m->deleter(m);
  }
}

static bool aligned(const slice_object* slice, const bw_safetensors_tensor* tensor) {
  const uintptr_t size = bw_safetensors_dtype_of(tensor->dtype)->size_bytes;
  return ((uintptr_t)(slice->info.data + tensor->offset) & (size - 1)) == 0;
}

static PyObject* capsule_new(const slice_object* slice, const bw_safetensors_tensor* tensor,
                             bool copied, bool versioned) {
  managed* m = managed_new(slice, tensor, copied, versioned);
  if (m == NULL) {
    return PyErr_NoMemory();
  }
  PyObject* capsule = PyCapsule_New(&m->head, versioned ? VERSIONED : LEGACY, capsule_end);
  if (capsule == NULL) {
    managed_end(m);
  }
  return capsule;
}

/* ---- Slice ---- */

static int slice_usable(const slice_object* self) {
  if (!bwpy_lease_inert(self->lease)) {
    return 0;
  }
  raise_of(self, "Refused",
           "this slice was taken before a fork; its memory is not mapped in the child: attach "
           "in the process that reads");
  return -1;
}

/* Keeps a layout for the slices to come, unless it is large. */
static void layout_keep(header_layout* layout) {
  if (layout->header_bytes <= KEPT_HEADER_BYTES) {
    layout_drop(last_layout);
    layout->references++;
    last_layout = layout;
  }
}

static int slice_parse(slice_object* self) {
  if (slice_usable(self) != 0) {
    return -1;
  }
  if (self->layout == NULL && layout_fits(last_layout, &self->info)) {
    last_layout->references++;
    self->layout = last_layout;
  }
  if (self->layout != NULL) {
    return 0;
  }
  bw_safetensors_error error = {0, NULL};
  header_layout* layout = layout_new(&self->info);
  const bw_safetensors_status status =
      layout == NULL ? BW_SAFETENSORS_NO_MEMORY
                     : bw_safetensors_parse(layout->header, self->info.length_bytes,
                                            &layout->table, &error);
  if (status == BW_SAFETENSORS_OK && layout_name(layout) == 0) {
    layout_keep(layout);
    self->layout = layout;
    return 0;
  }
  layout_drop(layout);
  if (status == BW_SAFETENSORS_NO_MEMORY) {
    PyErr_NoMemory();
  } else if (status != BW_SAFETENSORS_OK) {
    raise_of(self, status == BW_SAFETENSORS_LIMIT ? "NotSupported" : "CorruptSlice",
             "slice is not readable as safetensors: %s, dp=%u cp=%u offset=%llu "
             "lengthBytes=%llu; raw slices are read as memoryview(slice)",
             error.reason, self->info.dp, self->info.cp, (unsigned long long)error.offset,
             (unsigned long long)self->info.length_bytes);
  }
  return -1;
}

static PyObject* tensor_new(slice_object* slice, const bw_safetensors_tensor* tensor,
                            PyObject* name) {
  tensor_object* self = PyObject_New(tensor_object, tensor_type);
  if (self == NULL) {
    return NULL;
  }
  Py_INCREF((PyObject*)slice);
  Py_INCREF(name);
  self->slice = slice;
  self->name = name;
  self->tensor = *tensor;
  self->layout = malloc((2 * tensor->dimensions + 1) * sizeof *self->layout);
  if (self->layout == NULL) {
    Py_DECREF(self);
    return PyErr_NoMemory();
  }
  Py_ssize_t stride = bw_safetensors_dtype_of(tensor->dtype)->size_bytes;
  for (uint32_t i = tensor->dimensions; i-- > 0;) {
    self->layout[i] = (Py_ssize_t)tensor->shape[i];
    self->layout[tensor->dimensions + i] = stride;
    stride *= tensor->shape[i] == 0 ? 1 : (Py_ssize_t)tensor->shape[i];
  }
  return (PyObject*)self;
}

static PyObject* slice_tensors(PyObject* object, PyObject* nothing) {
  slice_object* self = (slice_object*)object;
  (void)nothing;
  if (slice_parse(self) != 0) {
    return NULL;
  }
  const header_layout* layout = self->layout;
  PyObject* all = PyDict_New();
  for (uint32_t i = 0; all != NULL && i < layout->table.count; i++) {
    PyObject* value = tensor_new(self, &layout->table.tensors[i], layout->names[i]);
    if (value == NULL || PyDict_SetItem(all, layout->names[i], value) != 0) {
      Py_CLEAR(all);
    }
    Py_XDECREF(value);
  }
  return all;
}

/* A capsule, or what `consumer` makes of it. */
static PyObject* capsule_or(PyObject* consumer, PyObject* capsule) {
  if (consumer == Py_None || capsule == NULL) {
    return capsule;
  }
  PyObject* made = PyObject_CallFunctionObjArgs(consumer, capsule, NULL);
  Py_DECREF(capsule);
  return made;
}

static PyObject* slice_capsules(PyObject* object, PyObject* arguments, PyObject* keywords) {
  static char* names[] = {"versioned", "consumer", NULL};
  slice_object* self = (slice_object*)object;
  int versioned = 0;
  PyObject* consumer = Py_None;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|pO", names, &versioned, &consumer) ||
      slice_parse(self) != 0) {
    return NULL;
  }
  const header_layout* layout = self->layout;
  PyObject* all = PyDict_New();
  for (uint32_t i = 0; all != NULL && i < layout->table.count; i++) {
    const bw_safetensors_tensor* tensor = &layout->table.tensors[i];
    const bool copied = !aligned(self, tensor);
    PyObject* value = capsule_or(consumer, capsule_new(self, tensor, copied, versioned != 0));
    if (value == NULL || PyDict_SetItem(all, layout->names[i], value) != 0) {
      Py_CLEAR(all);
    }
    Py_XDECREF(value);
  }
  return all;
}

/*
 * torch.frombuffer and others give the export back at once and keep only the object: so the lease
 * hangs on the object, and giving a buffer back does nothing.
 */
static int slice_getbuffer(PyObject* object, Py_buffer* view, int flags) {
  slice_object* self = (slice_object*)object;
  view->obj = NULL;
  if (slice_usable(self) != 0) {
    return -1;
  }
  return PyBuffer_FillInfo(view, object, self->info.data, (Py_ssize_t)self->info.length_bytes,
                           self->lease->writable ? 0 : 1, flags);
}

static Py_ssize_t slice_length(PyObject* object) {
  return (Py_ssize_t)((slice_object*)object)->info.length_bytes;
}

static PyObject* slice_dp(PyObject* object, void* closure) {
  (void)closure;
  return PyLong_FromUnsignedLong(((slice_object*)object)->info.dp);
}

static PyObject* slice_cp(PyObject* object, void* closure) {
  (void)closure;
  return PyLong_FromUnsignedLong(((slice_object*)object)->info.cp);
}

static PyObject* slice_micro_batches(PyObject* object, void* closure) {
  (void)closure;
  return PyLong_FromUnsignedLong(((slice_object*)object)->info.micro_batches);
}

static PyObject* slice_samples(PyObject* object, void* closure) {
  (void)closure;
  return PyLong_FromUnsignedLongLong(((slice_object*)object)->info.samples);
}

static PyObject* slice_tokens(PyObject* object, void* closure) {
  (void)closure;
  return PyLong_FromUnsignedLongLong(((slice_object*)object)->info.tokens);
}

static PyObject* slice_crc32c(PyObject* object, void* closure) {
  (void)closure;
  return PyLong_FromUnsignedLong(((slice_object*)object)->info.crc32c);
}

static PyObject* slice_repr(PyObject* object) {
  const bwpy_slice_info* info = &((slice_object*)object)->info;
  return PyUnicode_FromFormat("<batchweave.Slice dp=%u cp=%u lengthBytes=%llu>", info->dp, info->cp,
                              (unsigned long long)info->length_bytes);
}

static void slice_dealloc(PyObject* object) {
  slice_object* self = (slice_object*)object;
  PyTypeObject* type = Py_TYPE(object);
  bwpy_lease* lease = self->lease;
  layout_drop(self->layout);
  Py_XDECREF(self->place);
  PyObject_Free(object);
  Py_DECREF(type);
  if (lease != NULL) {
    bwpy_lease_drop(lease);
  }
}

PyObject* bwpy_slice_new(bwpy_lease* lease, const bwpy_slice_info* info, PyObject* place) {
  slice_object* self = PyObject_New(slice_object, slice_type);
  if (self == NULL) {
    return NULL;
  }
  self->lease = bwpy_lease_hold(lease);
  self->info = *info;
  self->layout = NULL;
  Py_INCREF(place);
  self->place = place;
  return (PyObject*)self;
}

static PyMethodDef slice_methods[] = {
    {"tensors", slice_tensors, METH_NOARGS,
     "tensors($self, /)\n--\n\nThe tensors of a safetensors slice, in the header's order."},
    {"capsules", (PyCFunction)(void (*)(void))slice_capsules, METH_VARARGS | METH_KEYWORDS,
     "capsules($self, /, versioned=False, consumer=None)\n--\n\nOne DLPack capsule per tensor, or what "
     "`consumer` makes of it; a tensor that is not naturally aligned is copied."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef slice_getset[] = {
    {"dp", slice_dp, NULL, "Data-parallel coordinate in the stream's grid.", NULL},
    {"cp", slice_cp, NULL, "Context-parallel coordinate in the stream's grid.", NULL},
    {"micro_batches", slice_micro_batches, NULL,
     "Micro-batches in the slice; equal for all slices of a step.", NULL},
    {"samples", slice_samples, NULL, "Samples in the slice, as its producer counted them.", NULL},
    {"tokens", slice_tokens, NULL, "Tokens in the slice, as its producer counted them.", NULL},
    {"crc32c", slice_crc32c, NULL, "Checksum (Castagnoli) of the slice, as committed.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slice_slots[] = {
    {Py_tp_doc,
     "The bytes of one grid coordinate of one step; a buffer of unsigned bytes, without a copy.\n\n"
     "Whoever holds a Slice, or anything made from it, holds the step."},
    {Py_tp_dealloc, slice_dealloc},
    {Py_tp_repr, slice_repr},
    {Py_tp_methods, slice_methods},
    {Py_tp_getset, slice_getset},
    {Py_sq_length, slice_length},
    {Py_bf_getbuffer, slice_getbuffer},
    {0, NULL}};

static PyType_Spec slice_spec = {"batchweave.Slice", sizeof(slice_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                                     Py_TPFLAGS_IMMUTABLETYPE,
                                 slice_slots};

/* ---- Tensor ---- */

/* Reads max_version: whether the consumer takes versioned capsules. -1 with an exception. */
static int wants_versioned(PyObject* version) {
  if (version == Py_None) {
    return 0;
  }
  PyObject* major = PySequence_GetItem(version, 0);
  const long value = major == NULL ? -1 : PyLong_AsLong(major);
  Py_XDECREF(major);
  return PyErr_Occurred() ? -1 : value >= BWPY_DL_MAJOR;
}

static int check_device(PyObject* device) {
  long kind = BWPY_DL_CPU;
  long index = 0;
  if (device != Py_None && !PyArg_ParseTuple(device, "ll", &kind, &index)) {
    return -1;
  }
  if (kind != BWPY_DL_CPU || index != 0) {
    PyErr_SetString(PyExc_BufferError, "batchweave tensors are in host memory: dl_device=(1, 0)");
    return -1;
  }
  return 0;
}

static PyObject* tensor_dlpack(PyObject* object, PyObject* arguments, PyObject* keywords) {
  static char* names[] = {"stream", "max_version", "dl_device", "copy", NULL};
  tensor_object* self = (tensor_object*)object;
  PyObject* stream = Py_None;
  PyObject* version = Py_None;
  PyObject* device = Py_None;
  PyObject* copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$OOOO", names, &stream, &version, &device,
                                   &copy) ||
      slice_usable(self->slice) != 0 || check_device(device) != 0) {
    return NULL;
  }
  if (stream != Py_None) {
    PyErr_SetString(PyExc_BufferError, "a tensor in host memory has no stream: stream=None");
    return NULL;
  }
  const int versioned = wants_versioned(version);
  if (versioned < 0) {
    return NULL;
  }
  const bool straight = aligned(self->slice, &self->tensor);
  const int wanted = PyObject_IsTrue(copy);
  if (wanted < 0) {
    return NULL;
  }
  const bool copied = wanted != 0 || (copy == Py_None && !straight);
  if (!copied && !straight) {
    PyErr_SetString(PyExc_BufferError, "the tensor is not naturally aligned: copy=None or True");
    return NULL;
  }
  if (!copied && !versioned && !self->slice->lease->writable) {
    PyErr_SetString(PyExc_BufferError,
                    "read-only memory needs a consumer of DLPack 1.0: max_version=(1, 0)");
    return NULL;
  }
  return capsule_new(self->slice, &self->tensor, copied, versioned != 0);
}

static PyObject* tensor_device(PyObject* object, PyObject* nothing) {
  (void)object;
  (void)nothing;
  return Py_BuildValue("(ii)", BWPY_DL_CPU, 0);
}

static PyObject* tensor_raw(PyObject* object, PyObject* nothing) {
  tensor_object* self = (tensor_object*)object;
  (void)nothing;
  PyObject* all = PyMemoryView_FromObject((PyObject*)self->slice);
  if (all == NULL) {
    return NULL;
  }
  const Py_ssize_t from = (Py_ssize_t)self->tensor.offset;
  PyObject* part =
      PySequence_GetSlice(all, from, from + (Py_ssize_t)self->tensor.length_bytes);
  Py_DECREF(all);
  return part;
}

static int tensor_getbuffer(PyObject* object, Py_buffer* view, int flags) {
  tensor_object* self = (tensor_object*)object;
  const bw_safetensors_dtype_info* dtype = bw_safetensors_dtype_of(self->tensor.dtype);
  view->obj = NULL;
  if (slice_usable(self->slice) != 0) {
    return -1;
  }
  const char* problem =
      dtype->pep3118 == NULL ? "this dtype has no buffer format: use raw() or DLPack"
      : !aligned(self->slice, &self->tensor) ? "the tensor is not naturally aligned: use raw()"
      : (flags & PyBUF_WRITABLE) != 0 && !self->slice->lease->writable ? "the tensor is read-only"
                                                                       : NULL;
  if (problem != NULL) {
    PyErr_SetString(PyExc_BufferError, problem);
    return -1;
  }
  memset(view, 0, sizeof *view);
  view->buf = self->slice->info.data + self->tensor.offset;
  view->len = (Py_ssize_t)self->tensor.length_bytes;
  view->readonly = self->slice->lease->writable ? 0 : 1;
  view->itemsize = dtype->size_bytes;
  view->format = (flags & PyBUF_FORMAT) != 0 ? (char*)(uintptr_t)dtype->pep3118 : NULL;
  view->ndim = (int)self->tensor.dimensions;
  view->shape = (flags & PyBUF_ND) != 0 ? self->layout : NULL;
  view->strides =
      (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? self->layout + self->tensor.dimensions : NULL;
  Py_INCREF(object);
  view->obj = object;
  return 0;
}

static PyObject* tensor_name(PyObject* object, void* closure) {
  tensor_object* self = (tensor_object*)object;
  (void)closure;
  Py_INCREF(self->name);
  return self->name;
}

static PyObject* tensor_dtype(PyObject* object, void* closure) {
  (void)closure;
  return PyUnicode_FromString(
      bw_safetensors_dtype_of(((tensor_object*)object)->tensor.dtype)->name);
}

static PyObject* tensor_shape(PyObject* object, void* closure) {
  tensor_object* self = (tensor_object*)object;
  (void)closure;
  PyObject* shape = PyTuple_New((Py_ssize_t)self->tensor.dimensions);
  for (uint32_t i = 0; shape != NULL && i < self->tensor.dimensions; i++) {
    PyObject* size = PyLong_FromSsize_t(self->layout[i]);
    if (size == NULL || PyTuple_SetItem(shape, (Py_ssize_t)i, size) != 0) {
      Py_CLEAR(shape);
    }
  }
  return shape;
}

static PyObject* tensor_nbytes(PyObject* object, void* closure) {
  (void)closure;
  return PyLong_FromUnsignedLongLong(((tensor_object*)object)->tensor.length_bytes);
}

static PyObject* tensor_repr(PyObject* object) {
  tensor_object* self = (tensor_object*)object;
  PyObject* shape = tensor_shape(object, NULL);
  PyObject* text =
      shape == NULL ? NULL
                    : PyUnicode_FromFormat("<batchweave.Tensor %R %s %R>", self->name,
                                           bw_safetensors_dtype_of(self->tensor.dtype)->name,
                                           shape);
  Py_XDECREF(shape);
  return text;
}

static void tensor_dealloc(PyObject* object) {
  tensor_object* self = (tensor_object*)object;
  PyTypeObject* type = Py_TYPE(object);
  free(self->layout);
  Py_XDECREF(self->name);
  Py_XDECREF((PyObject*)self->slice);
  PyObject_Free(object);
  Py_DECREF(type);
}

static PyMethodDef tensor_methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))tensor_dlpack, METH_VARARGS | METH_KEYWORDS,
     "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "A DLPack capsule of the tensor: a view unless copy=True or the bytes are not aligned."},
    {"__dlpack_device__", tensor_device, METH_NOARGS, 
     "__dlpack_device__($self, /)\n--\n\n(1, 0): host memory."},
    {"raw", tensor_raw, METH_NOARGS, 
     "raw($self, /)\n--\n\nThe tensor's bytes, whatever its dtype."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef tensor_getset[] = {
    {"name", tensor_name, NULL, "Name in the slice.", NULL},
    {"dtype", tensor_dtype, NULL, "Element type as safetensors names it, for example 'BF16'.", NULL},
    {"shape", tensor_shape, NULL, "Sizes, row-major; () is a scalar.", NULL},
    {"nbytes", tensor_nbytes, NULL, "Length in bytes.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot tensor_slots[] = {
    {Py_tp_doc,
     "One tensor of a slice, where it lies: a DLPack exporter, and a typed buffer where the struct "
     "module knows the dtype.\n\nWhoever holds it, or anything made from it, holds the step."},
    {Py_tp_dealloc, tensor_dealloc},
    {Py_tp_repr, tensor_repr},
    {Py_tp_methods, tensor_methods},
    {Py_tp_getset, tensor_getset},
    {Py_bf_getbuffer, tensor_getbuffer},
    {0, NULL}};

static PyType_Spec tensor_spec = {"batchweave.Tensor", sizeof(tensor_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                                      Py_TPFLAGS_IMMUTABLETYPE,
                                  tensor_slots};

int bwpy_slices_init(PyObject* module) {
  slice_type = (PyTypeObject*)PyType_FromSpec(&slice_spec);
  if (slice_type == NULL || PyModule_AddObjectRef(module, "Slice", (PyObject*)slice_type) != 0) {
    return -1;
  }
  tensor_type = (PyTypeObject*)PyType_FromSpec(&tensor_spec);
  if (tensor_type == NULL || PyModule_AddObjectRef(module, "Tensor", (PyObject*)tensor_type) != 0) {
    return -1;
  }
  return 0;
}
