// The base class of kernels, which holds their specializations.
#pragma once

#include "arguments/parameter_rule.h"
#include "plans/specialization_table.h"

namespace dispatch {

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
