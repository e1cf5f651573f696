// How an argument is read, by its type.
#pragma once

#include "call.h"

namespace dispatch {

struct ExchangeTable;

enum class Form : uint8_t {
  Unknown,  // on the Python path
  Integer,  // int
  Boolean,  // bool
  Real,     // float
  Absent,   // None
  Text,     // str
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

/// Adds an argument that is compiled into the kernel.
Outcome read_constant(Call &call, PyObject *value);
/// Adds an argument of the launch: an array or a number.
Outcome read_argument(Call &call, PyObject *value, const StaticDimensions &known);

/// A pending exception becomes an outcome: an Exception is cleared, others stay pending.
Outcome clear_exception(Outcome otherwise);

} // namespace dispatch
