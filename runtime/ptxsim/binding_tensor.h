// The functions of the Python module for matrices and tensor maps.
#pragma once

#include <nanobind/nanobind.h>

namespace ptxsim {

void bind_tensor(nanobind::module_ &module);

} // namespace ptxsim
