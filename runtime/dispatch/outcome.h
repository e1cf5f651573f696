// What became of launches: on the native path, or on the Python path for one of these reasons.
#pragma once

#include "python_api.h"

#include <cstdint>

namespace dispatch {

enum class Outcome : uint8_t {
  Native,
  FirstLaunch,
  Keyword,
  ArgumentCount,
  NotAKernel,
  Backend,
  Stream,
  Grid,
  HostArray,
  NoDeviceArray,
  SeveralDevices,
  NoDriver,
  ArgumentType,
  ArrayForm,
  Range,
  Size,
  Padding,
  Contract,
  NotPlanned,
  Driver,
  CountedType, // the type of an argument, which count_type counted
  Raised,      // a Python exception that is not an Exception is pending and is not caught
};

/// The names in `launch_counts`, in the order of Outcome.
constexpr const char *outcome_names[] = {
    "native",
    "first launch of a specialization",
    "keyword argument",
    "number of arguments",
    "not a kernel",
    "backend other than launch",
    "type of the stream",
    "grid",
    "host array",
    "no array in device memory",
    "arrays on several devices",
    "no driver",
    "type of an argument",
    "form of an array",
    "value out of range",
    "too many arguments",
    "array without elements",
    "tensor map against the rules",
    "specialization that is not planned",
    "error of the driver",
};
constexpr int outcome_count = sizeof outcome_names / sizeof *outcome_names;

/// Counts an outcome other than CountedType and Raised; the caller holds the GIL.
void count(Outcome outcome);
/// Counts a launch on the Python path because of the type of an argument, by the name of the type.
void count_type(PyTypeObject *type);
/// A new dictionary of the counts that are not zero; null with an exception.
PyObject *counts();
void reset_counts();

} // namespace dispatch
