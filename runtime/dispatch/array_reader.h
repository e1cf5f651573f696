// Reads arrays by DLPack and __cuda_array_interface__.
#pragma once

#include "reader.h"

namespace dispatch {

/// Adds an array in device memory; `reader.form` is a form of arrays.
Outcome read_array(Call &call, const Reader &reader, PyObject *value, const StaticDimensions &known);

/// Creates the names of the attributes that are read; false with an exception.
bool prepare_names();

} // namespace dispatch
