// The interleaved layouts and swizzles of a tensor map, and what is documented of them (PTX ISA 5.5.6, 5.5.7).
#pragma once

#include "tma/tensor_map/tensor_map.h"

namespace ptxsim {

/// The first rule of interleaved layouts and of swizzles that the map violates, as "expected ..., got ..."; empty if it
/// violates none.
std::string layout_violation(const TensorMap &map);

/// An undocumented feature of interleaved layouts or of swizzles that the map uses; empty if it uses none.
std::string layout_unconfirmed(const TensorMap &map);

} // namespace ptxsim
