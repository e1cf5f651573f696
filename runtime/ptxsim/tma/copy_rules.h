// Rules of tensor copies that depend on the target, on the direction, or on the coordinates (PTX ISA 9.7.9.27.1.1).
// Violations are the first rule that is violated, as "expected ..., got ...", or an empty string.
#pragma once

#include "tma/box_pieces.h"

#include <string_view>

namespace ptxsim {

/// Features that the target lacks. ptxas refuses their codes in tensormap.replace on these targets.
std::string target_violation(const TensorMap &map, std::string_view target);

/// Whether a store through the map follows the rules of .b6p2x16 on sm_103a.
bool permits_half_rows(const TensorMap &map, std::string_view target);

/// Maps and first coordinates of a copy in any direction.
std::string coordinate_violation(const TensorMap &map, const Coordinates &coordinates);

/// Maps that only loads may use.
std::string store_map_violation(const TensorMap &map);

/// An undocumented feature that loads through the map use; empty if there is none.
std::string load_unconfirmed(const TensorMap &map);

/// The same for stores that do not reduce.
std::string store_unconfirmed(const TensorMap &map);

/// An undocumented combination of map and first coordinate; empty if there is none.
std::string coordinate_unconfirmed(const TensorMap &map, const Coordinates &coordinates);

} // namespace ptxsim
