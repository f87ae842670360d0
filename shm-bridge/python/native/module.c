/*
 * batchweave._native: the C rank client and zero-copy tensors for Python, on the stable ABI (3.11).
 * client.c attaches and takes steps, slices.c shows them, lease.c keeps them while anyone looks.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string.h>

#include "client.h"
#include "lease.h"
#include "slices.h"

static int module_exec(PyObject* module) {
  /* Types and the count of forks are one per process; leases end on threads of no interpreter. */
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    PyErr_SetString(PyExc_ImportError,
                    "batchweave does not support subinterpreters: import it in the main one");
    return -1;
  }
  const int error = bwpy_watch_forks();
  if (error != 0) {
    PyErr_Format(PyExc_ImportError, "pthread_atfork failed: %s", strerror(error));
    return -1;
  }
  return bwpy_slices_init(module) != 0 || bwpy_client_init(module) != 0 ? -1 : 0;
}

static PyMethodDef module_methods[] = {
    {"attach", (PyCFunction)(void (*)(void))bwpy_attach, METH_VARARGS | METH_KEYWORDS,
     "attach($module, /, *, directory, stream, group, session, rank, dp, dp_size, cp, cp_size, "
     "local_readers, token, next_step, view_version, refuse_if_live, views, check, deadline_s, notice, "
     "check_at_release, pin_library, pin_required, pin_chunk_bytes)\n--\n\n"
     "Attaches this process as one rank."},
    {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    "batchweave._native",
    "What batchweave needs of C; use the package instead.",
    0,
    module_methods,
    module_slots,
    NULL,
    NULL,
    NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&module_definition); }
