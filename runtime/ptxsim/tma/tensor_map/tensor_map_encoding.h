// Offsets of the fields of an encoded tensor map, in bytes. Those of the first 64 bytes are as ptxas' lowering of
// tensormap.replace reveals them. Those of the kind and of the im2col fields are of the simulator alone: NVIDIA does
// not publish them.
#pragma once

#include <cstdint>

namespace ptxsim::tensor_map_encoding {

inline constexpr uint32_t flags_at = 0x08, stride_low_at = 0x0c, stride_high_at = 0x1c, extent_at = 0x20,
                          box0_at = 0x34, box_at = 0x38;
// u32, i16[3], i16[3] (both W, H, D), u16, u16.
inline constexpr uint32_t kind_at = 0x40, lower_corner_at = 0x44, upper_corner_at = 0x4a, channels_at = 0x50,
                          pixels_at = 0x52;

} // namespace ptxsim::tensor_map_encoding
