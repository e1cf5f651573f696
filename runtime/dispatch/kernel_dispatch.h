// The base class of kernels, which holds their specializations.
#pragma once

#include "specialization_table.h"

namespace dispatch {

/// What a launch needs to know about a parameter of the kernel.
struct ParameterRule {
  bool constant = false;
  bool unknown = false; // of an annotation that only the Python path supports
  StaticDimensions known;
};

struct Dispatch {
  bool described = false;
  std::vector<ParameterRule> parameters;
  SpecializationTable table;
};

/// Creates the class KernelDispatch; null with an exception.
PyObject *create_kernel_class();

/// The Dispatch of a kernel; null for other objects.
Dispatch *dispatch_of(PyObject *object);

} // namespace dispatch
