#include "arguments/stream_and_grid.h"

#include "arguments/dlpack.h"
#include "arguments/reader.h"
#include "launch.h"

namespace dispatch {

namespace {

bool read_extent(PyObject *value, int64_t limit, uint32_t &extent) {
  int overflow = 0;
  const int64_t found = PyLong_CheckExact(value) ? PyLong_AsLongLongAndOverflow(value, &overflow) : -1;
  extent = uint32_t(found);
  return !overflow && 0 <= found && found <= limit;
}

bool handle_of(PyObject *handle, void *&stream) {
  const bool is_handle = handle && PyLong_CheckExact(handle);
  const uint64_t value = is_handle ? PyLong_AsUnsignedLongLong(handle) : 0;
  stream = reinterpret_cast<void *>(value);
  return is_handle && !PyErr_Occurred();
}

/// The current stream of the library of the arrays.
Outcome current_stream(const Call &call, void *&stream) {
  stream = nullptr;
  if (call.mixed_libraries)
    return Outcome::Stream;
  if (call.library == Library::None)
    return Outcome::Native;
  if (call.exchange && call.exchange->current_stream) {
    const int failed = call.exchange->current_stream(device_cuda, call.ordinal, &stream);
    return failed ? clear_exception(Outcome::Stream) : Outcome::Native;
  }
  const char *library = call.library == Library::Torch ? "torch" : "cupy";
  PyObject *handle = PyObject_CallFunction(python_path().current_stream, "si", library, call.ordinal);
  const bool found = handle_of(handle, stream);
  Py_XDECREF(handle);
  return found ? Outcome::Native : clear_exception(Outcome::Stream);
}

/// The handle of an object: `__cuda_stream__` returns (version, handle), `cuda_stream` and `ptr` are handles.
PyObject *handle_of_object(PyObject *given) {
  static PyObject *const protocol = PyUnicode_InternFromString("__cuda_stream__");
  static PyObject *const names[] = {PyUnicode_InternFromString("cuda_stream"), PyUnicode_InternFromString("ptr")};
  PyObject *found = nullptr;
  if (PyObject *method = PyObject_GetAttr(given, protocol)) {
    PyObject *pair = PyObject_CallNoArgs(method);
    Py_DECREF(method);
    if (pair && PyTuple_CheckExact(pair) && tuple_size(pair) >= 2)
      found = Py_NewRef(tuple_item(pair, 1));
    Py_XDECREF(pair);
    return found;
  }
  for (PyObject *name : names) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError))
      return nullptr;
    PyErr_Clear();
    if ((found = PyObject_GetAttr(given, name)))
      return found;
  }
  return nullptr;
}

} // namespace

bool read_grid(PyObject *given, uint32_t *grid) {
  grid[0] = grid[1] = grid[2] = 1;
  if (PyLong_CheckExact(given))
    return read_extent(given, max_grid[0], grid[0]);
  const bool tuple = PyTuple_CheckExact(given);
  if (!tuple && !PyList_CheckExact(given))
    return false;
  const Py_ssize_t count = tuple ? tuple_size(given) : PyList_Size(given);
  // An empty tuple is one block, and an empty list is an error.
  if (count > 3 || (!count && !tuple))
    return false;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!read_extent(tuple ? tuple_item(given, i) : PyList_GetItem(given, i), max_grid[i], grid[i]))
      return false;
  return true;
}

Outcome read_stream(const Call &call, PyObject *given, void *&stream) {
  if (given == Py_None)
    return current_stream(call, stream);
  if (PyLong_CheckExact(given))
    return handle_of(given, stream) ? Outcome::Native : clear_exception(Outcome::Stream);
  PyObject *handle = handle_of_object(given);
  const bool found = handle_of(handle, stream);
  Py_XDECREF(handle);
  return found ? Outcome::Native : clear_exception(Outcome::Stream);
}

} // namespace dispatch
