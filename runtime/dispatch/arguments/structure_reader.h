// Reads tuples, dataclasses and lists of arrays.
#pragma once

#include "arguments/reader.h"

namespace dispatch {

/// Adds the items of an argument of the launch; `reader.form` is Tuple, Record or List.
Outcome read_structure(Call &call, const Reader &reader, PyObject *value, const ParameterRule &rule, unsigned depth);
/// Adds the items of an argument that is compiled into the kernel; `reader.form` is Tuple or Record.
Outcome read_constant_structure(Call &call, const Reader &reader, PyObject *value, unsigned depth);

} // namespace dispatch
