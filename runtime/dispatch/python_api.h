// Accessors of the Python API that the stable ABI has as functions only.
#pragma once

#include <Python.h>

#if PY_VERSION_HEX < 0x030C0000
#include <structmember.h>
#define Py_T_PYSSIZET T_PYSSIZET
#define Py_READONLY READONLY
#endif

namespace dispatch {

// The callers have checked the types, and the indices.
#ifdef Py_LIMITED_API
inline Py_ssize_t tuple_size(PyObject *tuple) { return PyTuple_Size(tuple); }
inline PyObject *tuple_item(PyObject *tuple, Py_ssize_t index) { return PyTuple_GetItem(tuple, index); }
inline double float_value(PyObject *value) { return PyFloat_AsDouble(value); }
#else
inline Py_ssize_t tuple_size(PyObject *tuple) { return PyTuple_GET_SIZE(tuple); }
inline PyObject *tuple_item(PyObject *tuple, Py_ssize_t index) { return PyTuple_GET_ITEM(tuple, index); }
inline double float_value(PyObject *value) { return PyFloat_AS_DOUBLE(value); }
#endif

inline PyObject *call_with(PyObject *function, PyObject *argument) {
  return PyObject_Vectorcall(function, &argument, 1, nullptr);
}

/// Replaces a reference that the module owns.
inline void replace(PyObject *&reference, PyObject *by) {
  PyObject *before = reference;
  reference = by;
  Py_XDECREF(before);
}

/// Memory of a new object of a heap type, which `free_object` releases.
inline PyObject *allocate_object(PyTypeObject *type) {
  return reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc))(type, 0);
}
inline void free_object(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

} // namespace dispatch
