// Offsets of the fields of an encoded tensor map, in bytes, as ptxas' lowering of tensormap.replace reveals them.
#pragma once

#include <cstdint>

namespace ptxsim::tensor_map_encoding {

inline constexpr uint32_t flags_at = 0x08, stride_low_at = 0x0c, stride_high_at = 0x1c, extent_at = 0x20,
                          box0_at = 0x34, box_at = 0x38;

} // namespace ptxsim::tensor_map_encoding
