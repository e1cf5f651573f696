// How an argument is read, by its type.
#pragma once

#include "arguments/parameter_rule.h"

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
  List,     // list, but not a class derived from it
  Record,   // a dataclass
  Identity, // an immutable object that is compared by its address: an element type, a member of an enumeration
  // A member of an enumeration that is a number of the launch too, and another class derived from int or float.
  IntegerMember,
  RealMember,
  DerivedInteger,
  DerivedReal,
  Scalar,   // a scalar of numpy
  Tensor,   // the C exchange of DLPack
  Capsule,  // __dlpack__
  Torch,    // _to_dlpack of torch
  Interface // __cuda_array_interface__
};

/// A field of a dataclass.
struct Field {
  PyObject *name; // a strong reference
  ParameterRule rule;
};

struct Reader {
  PyTypeObject *type = nullptr; // a strong reference
  Form form = Form::Unknown;
  Element element = Element::I1; // of a Scalar
  Library library = Library::None;
  const ExchangeTable *exchange = nullptr;
  std::vector<Field> fields; // of a Record
};

/// The reader of the type of `value`; null with an exception. The caller holds the GIL.
const Reader *reader_of(PyObject *value);

/// Sets the Python function that describes a type that has no reader yet:
/// describe(value) -> (form, element of a scalar, library, ((name, rule) of each field of a record)), with forms as in
/// `form_names` and rules as in `rule_of`.
bool set_describe(PyObject *function);

/// Adds an argument that is compiled into the kernel; tuples and records may be nested in max_depth levels.
Outcome read_constant(Call &call, PyObject *value, unsigned depth = 0);
/// Adds an argument: an array, a number, a list of arrays, a tuple or record of these, or a constant.
Outcome read_argument(Call &call, PyObject *value, const ParameterRule &rule, unsigned depth = 0);
constexpr unsigned max_depth = 8;

/// Adds an argument as its rule says.
inline Outcome read_value(Call &call, PyObject *value, const ParameterRule &rule, unsigned depth = 0) {
  return rule.constant ? read_constant(call, value, depth) : read_argument(call, value, rule, depth);
}

/// A pending exception becomes an outcome: an Exception is cleared, others stay pending.
Outcome clear_exception(Outcome otherwise);

} // namespace dispatch
