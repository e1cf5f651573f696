// `launch` for Python: the native path, and the Python path for all other launches.
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
  PyObject *describe_kernel; // kernel -> the rule of each parameter
  PyObject *plan;            // (kernel, args, grid or None) -> Plan or None, after compiling and loading
  PyObject *current_stream;  // (library, ordinal) -> handle
  PyObject *copy_arguments;  // args -> args with copies of lists and records
  PyObject *connect_driver;  // calls connect_driver of driver.h, if this machine has a driver
};
PythonPath &python_path();

} // namespace dispatch
