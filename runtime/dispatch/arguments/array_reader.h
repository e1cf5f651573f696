// Reads arrays by DLPack and __cuda_array_interface__.
#pragma once

#include "arguments/reader.h"

namespace dispatch {

/// Reads an array in device memory; `reader.form` is a form of arrays. `call` holds what must live until the launch.
Outcome read_array(Call &call, const Reader &reader, PyObject *value, ArrayForm &array);

/// Creates the names of the attributes that are read; false with an exception.
bool prepare_names();

} // namespace dispatch
