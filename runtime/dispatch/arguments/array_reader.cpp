#include "arguments/array_reader.h"

#include "arguments/dlpack.h"
#include "driver.h"
#include "launch.h"

namespace dispatch {

namespace {

// Interned names; owned by the module, which lives as long as the process.
struct Names {
  PyObject *interface, *data, *shape, *strides, *typestr, *dlpack, *stream, *stream_keyword;
} names;

/// Sets the device of an array by its address. One GPU needs no query.
Outcome find_device(ArrayForm &array) {
  if (!connected_driver) {
    PyObject *done = PyObject_CallNoArgs(python_path().connect_driver);
    if (!done)
      return clear_exception(Outcome::NoDriver);
    Py_DECREF(done);
  }
  const Driver *found = connected_driver;
  array.device = !found || found->device_count == 1 || !array.address ? 0 : found->ordinal_of(array.address);
  return Outcome::Native;
}

Outcome read_tensor(const DlTensor &tensor, ArrayForm &array) {
  if (tensor.device_type != device_cuda && tensor.device_type != device_cuda_managed)
    return tensor.device_type == device_cpu || tensor.device_type == device_cuda_host ? Outcome::HostArray
                                                                                      : Outcome::ArrayForm;
  const int element = element_of_dlpack(tensor);
  if (element < 0 || tensor.rank < 0 || tensor.rank > int(max_rank))
    return Outcome::ArrayForm;
  array.element = Element(element);
  array.rank = tensor.rank;
  array.address = uint64_t(uintptr_t(tensor.data)) + tensor.byte_offset;
  array.device = tensor.device_id;
  for (int axis = 0; axis < tensor.rank; ++axis)
    array.shape[axis] = tensor.shape[axis];
  if (!tensor.strides)
    row_major(array.shape, array.rank, 0, array.strides);
  else
    for (int axis = 0; axis < tensor.rank; ++axis)
      array.strides[axis] = tensor.strides[axis];
  return tensor.device_type == device_cuda ? Outcome::Native : find_device(array);
}

/// Reads the tensor of a capsule, which is held until after the launch: its deleter may free the extents.
Outcome read_capsule(Call &call, PyObject *capsule, ArrayForm &array) {
  if (!capsule)
    return clear_exception(Outcome::ArrayForm);
  if (Outcome outcome = call.hold(capsule); outcome != Outcome::Native)
    return outcome;
  if (!PyCapsule_IsValid(capsule, "dltensor"))
    return Outcome::ArrayForm;
  return read_tensor(*static_cast<DlTensor *>(PyCapsule_GetPointer(capsule, "dltensor")), array);
}

/// Array API standard, __dlpack__: stream -1 means no synchronization.
PyObject *export_capsule(PyObject *value) {
  PyObject *arguments[] = {value, names.stream};
  return PyObject_VectorcallMethod(names.dlpack, arguments, 1, names.stream_keyword);
}

/// The integers of a tuple; -1 if it is not a tuple of at most max_rank integers.
int integers(PyObject *tuple, int64_t *values) {
  if (!tuple || !PyTuple_CheckExact(tuple) || tuple_size(tuple) > Py_ssize_t(max_rank))
    return -1;
  const int count = int(tuple_size(tuple));
  for (int i = 0; i < count; ++i) {
    PyObject *item = tuple_item(tuple, i);
    int overflow;
    if (!PyLong_CheckExact(item))
      return -1;
    values[i] = PyLong_AsLongLongAndOverflow(item, &overflow);
    if (overflow)
      return -1;
  }
  return count;
}

bool read_element(PyObject *typestr, Element &element) {
  // Arrays of a program have few types, whose names are usually one object each.
  static PyObject *last = nullptr; // a strong reference
  static Element last_element;
  if (typestr && typestr == last) {
    element = last_element;
    return true;
  }
  Py_ssize_t size;
  const char *text = typestr && PyUnicode_CheckExact(typestr) ? PyUnicode_AsUTF8AndSize(typestr, &size) : nullptr;
  const int found = text ? element_of_typestr(text, size_t(size)) : -1;
  element = Element(found < 0 ? 0 : found);
  if (found < 0)
    return false;
  replace(last, Py_NewRef(typestr));
  last_element = element;
  return true;
}

bool read_address(PyObject *data, uint64_t &address) {
  if (!data || !PyTuple_CheckExact(data) || tuple_size(data) != 2)
    return false;
  PyObject *item = tuple_item(data, 0);
  address = item == Py_None ? 0 : PyLong_CheckExact(item) ? PyLong_AsUnsignedLongLong(item) : uint64_t(-1);
  return address != uint64_t(-1);
}

/// The strides of the interface are in bytes; null are those of a row-major array.
bool read_strides(PyObject *given, ArrayForm &array) {
  // The Python path takes an empty tuple as no strides.
  if (!given || given == Py_None || (PyTuple_CheckExact(given) && !tuple_size(given))) {
    row_major(array.shape, array.rank, 0, array.strides);
    return true;
  }
  if (integers(given, array.strides) != array.rank)
    return false;
  const unsigned log2 = row_of(array.element).size_log2;
  for (int axis = 0; axis < array.rank; ++axis) {
    if (array.strides[axis] & ((int64_t(1) << log2) - 1))
      return false;
    array.strides[axis] >>= log2;
  }
  return true;
}

bool read_interface(PyObject *interface, ArrayForm &array) {
  if (!PyDict_CheckExact(interface))
    return false;
  PyObject *shape = PyDict_GetItemWithError(interface, names.shape);
  array.rank = integers(shape, array.shape);
  return array.rank >= 0 && read_element(PyDict_GetItemWithError(interface, names.typestr), array.element) &&
         read_address(PyDict_GetItemWithError(interface, names.data), array.address) &&
         read_strides(PyDict_GetItemWithError(interface, names.strides), array);
}

Outcome read_interface_of(PyObject *value, ArrayForm &array) {
  PyObject *interface = PyObject_GetAttr(value, names.interface);
  if (!interface)
    return clear_exception(Outcome::ArrayForm);
  const bool read = read_interface(interface, array);
  Py_DECREF(interface);
  if (!read)
    return clear_exception(Outcome::ArrayForm);
  return find_device(array);
}

/// torch._C._to_dlpack, for versions of torch without the C exchange.
PyObject *export_by_torch(PyObject *value) {
  static PyObject *function = nullptr;
  if (!function) {
    PyObject *module = PyImport_ImportModule("torch._C");
    function = module ? PyObject_GetAttrString(module, "_to_dlpack") : nullptr;
    Py_XDECREF(module);
  }
  return function ? call_with(function, value) : nullptr;
}

} // namespace

bool prepare_names() {
  names.interface = PyUnicode_InternFromString("__cuda_array_interface__");
  names.data = PyUnicode_InternFromString("data");
  names.shape = PyUnicode_InternFromString("shape");
  names.strides = PyUnicode_InternFromString("strides");
  names.typestr = PyUnicode_InternFromString("typestr");
  names.dlpack = PyUnicode_InternFromString("__dlpack__");
  names.stream = PyLong_FromLong(-1);
  names.stream_keyword = Py_BuildValue("(s)", "stream");
  return !PyErr_Occurred();
}

Outcome read_array(Call &call, const Reader &reader, PyObject *value, ArrayForm &array) {
  if (reader.library != Library::None) {
    // The current streams of two libraries may differ: the Python path compares them.
    if (call.library != Library::None && call.library != reader.library)
      call.mixed_libraries = true;
    call.library = reader.library;
    call.exchange = reader.exchange;
  }
  if (reader.form == Form::Interface)
    return read_interface_of(value, array);
  if (reader.form == Form::Capsule)
    return read_capsule(call, export_capsule(value), array);
  if (reader.form == Form::Torch)
    return read_capsule(call, export_by_torch(value), array);
  DlTensor tensor;
  if (reader.exchange->borrow(value, &tensor))
    return clear_exception(Outcome::ArrayForm);
  return read_tensor(tensor, array);
}

} // namespace dispatch
