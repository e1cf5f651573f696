// How an argument is read, by its type.
#pragma once

#include "call.h"

#include <vector>

namespace dispatch {

struct ExchangeTable;

enum class Form : uint8_t {
  Unknown,  // on the Python path
  Integer,  // int
  Boolean,  // bool
  Real,     // float
  Absent,   // None
  Text,     // str
  Tuple,    // tuple, but not a class derived from it
  Identity, // an immutable object that is compared by its address: an element type
  Scalar,   // a scalar of numpy
  Tensor,   // the C exchange of DLPack
  Capsule,  // __dlpack__
  Torch,    // _to_dlpack of torch
  Interface // __cuda_array_interface__
};

struct Reader {
  PyTypeObject *type = nullptr; // a strong reference
  Form form = Form::Unknown;
  Element element = Element::I1; // of a Scalar
  Library library = Library::None;
  const ExchangeTable *exchange = nullptr;
};

/// The reader of the type of `value`; null with an exception. The caller holds the GIL.
const Reader *reader_of(PyObject *value);

/// Sets the Python function that describes a type that has no reader yet:
/// describe(value) -> (form, element of a scalar, library), names as in `form_names`.
bool set_describe(PyObject *function);

/// Adds an argument that is compiled into the kernel; a tuple may have max_depth levels.
Outcome read_constant(Call &call, PyObject *value, unsigned depth = 0);
/// Adds an argument of the launch: an array, a number, a tuple of them, or a value that is always a constant.
Outcome read_argument(Call &call, PyObject *value, const StaticDimensions &known, unsigned depth = 0);
constexpr unsigned max_depth = 8;

/// Appends new references to the objects in `value` that a key has by their address.
void hold_identities(PyObject *value, std::vector<PyObject *> &held);

/// A pending exception becomes an outcome: an Exception is cleared, others stay pending.
Outcome clear_exception(Outcome otherwise);

} // namespace dispatch
