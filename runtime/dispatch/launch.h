// `launch` for Python: the native path, and the Python path behind it.
#pragma once

#include "python_api.h"

namespace dispatch {

extern const char prepare_documentation[];

/// launch(stream, grid, kernel, args, /, ...): METH_FASTCALL | METH_KEYWORDS.
PyObject *launch_kernel(PyObject *, PyObject *const *arguments, Py_ssize_t count, PyObject *names);

/// kernel.prepare(args): METH_O.
PyObject *prepare(PyObject *kernel, PyObject *args);

/// The functions of the Python path. Each takes the objects of the caller.
struct PythonPath {
  PyObject *launch;          // the arguments of launch_kernel
  PyObject *describe_kernel; // kernel -> for each parameter, None or (constant, static extents, static strides)
  PyObject *plan;            // (kernel, args) -> Plan or None, after compiling and loading
  PyObject *current_stream;  // (library, ordinal) -> handle
};
PythonPath &python_path();

} // namespace dispatch
