// The limits of im2col tensor maps and of accesses through them (PTX ISA 5.5.4 and 5.5.5; CUDA driver API,
// cuTensorMapEncodeIm2col and cuTensorMapEncodeIm2colWide).
#pragma once

#include "tma/im2col.h"

#include <string>

namespace ptxsim {

/// The first rule that an im2col map violates, as "expected ..., got ..."; empty for a legal map and for a tiled one.
std::string im2col_map_violation(const TensorMap &map);

/// An undocumented feature that an im2col map uses; empty if it uses none.
std::string im2col_map_unconfirmed(const TensorMap &map);

/// The first limit of the operands of an access that `access` exceeds, as "expected ..., got ..."; else empty.
std::string im2col_access_violation(const TensorMap &map, const Im2colAccess &access);

/// The rule for stores that the corners of the map violate, as "expected ..., got ..."; else empty.
std::string im2col_store_violation(const TensorMap &map);

} // namespace ptxsim
