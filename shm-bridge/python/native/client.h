/* The Python type Client: one attachment to the node daemon, on the C client of native-include. */
#ifndef BATCHWEAVE_PY_CLIENT_H
#define BATCHWEAVE_PY_CLIENT_H

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

/* Readies the type and adds it to the module. Returns 0, or -1 with an exception. */
int bwpy_client_init(PyObject* module);

/* attach(*, directory, stream, ...) -> Client; see _native.pyi. */
PyObject* bwpy_attach(PyObject* module, PyObject* arguments, PyObject* keywords);

#endif
