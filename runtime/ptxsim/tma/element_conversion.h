// What a tensor copy does to the values that it moves.
#pragma once

#include "tma/tensor_map/tensor_map.h"

namespace ptxsim {

/// Converts elements in place.
using Conversion = void (*)(uint8_t *elements, uint32_t bytes);

/// The conversion of a load through a map of this element type; null if values keep their bits.
Conversion load_conversion(TensorElement element);

/// Fills `count` bytes of whole elements outside the tensor with zeros, or with a NaN of their type.
void fill_outside(bool with_nan, uint8_t *bytes, uint32_t count);

/// .b6p2x16: the low six bits of sixteen bytes, as twelve bytes without gaps (PTX ISA 5.5.1.1.1, Figure 7).
void pack_six_bits(uint8_t *to, const uint8_t *from);

} // namespace ptxsim
