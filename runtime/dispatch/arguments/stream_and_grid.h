// The grid and the stream of a launch, from the objects of the caller.
#pragma once

#include "arguments/call.h"

namespace dispatch {

// CUDA programming guide, "Technical Specifications per Compute Capability".
constexpr int64_t max_grid[] = {0x7FFF'FFFF, 65535, 65535};

/// False if the grid is not an int, or a tuple or list of one to three of them, within the limits of CUDA.
bool read_grid(PyObject *given, uint32_t *grid);

/// The stream of a launch of `call`: a handle, None, or an object with `__cuda_stream__`, `cuda_stream` or `ptr`.
Outcome read_stream(const Call &call, PyObject *given, void *&stream);

} // namespace dispatch
