// The part of the Python module that is about matrices and tensor maps.
#pragma once

#include <nanobind/nanobind.h>

namespace ptxsim {

void bind_tensor(nanobind::module_ &module);

} // namespace ptxsim
