// The plan of a specialization as a Python object.
#pragma once

#include "plans/plan.h"

#include "python_api.h"

namespace dispatch {

/// The plan of a `Plan` object, which owns it; null for other objects.
Plan *plan_of(PyObject *object);

/// Creates the class Launcher: a plan with bound arguments; null with an exception.
PyObject *create_launcher_class();

} // namespace dispatch
