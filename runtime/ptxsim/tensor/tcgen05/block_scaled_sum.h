// The sum of products of a block-scaled tensor core instruction (PTX ISA, "Block scaling for tcgen05.mma").
#pragma once

#include "tensor/fused_sum.h"
#include "tensor/tcgen05/instruction_descriptor.h"

namespace ptxsim {

/// The scale factors of an operand: factor `block` of row (of A) or column (of B) number i is codes[i * blocks +
/// block].
struct ScaleFactors {
  ScaleFormat format = ScaleFormat::UE8M0;
  uint32_t blocks = 1;
  std::vector<uint8_t> codes;
};

/// d = (a * a_scales) * (b * b_scales) + c in f32; c may be null for zero and may be d. Both have rows of `pitch`
/// words.
///
/// One block along K: the exponents of the factors are added to those of the elements. More blocks, of 4-bit elements:
/// sixteen products are added exactly and multiplied by the significands of their factors, and a term has 35 fraction
/// bits relative to the largest exponent of two factors (measured on hardware; PTX does not specify it).
void block_scaled_multiply_add(const ElementMatrix &a, const ElementMatrix &b, const ScaleFactors &a_scales,
                               const ScaleFactors &b_scales, const uint32_t *c, uint32_t *d, size_t pitch);

} // namespace ptxsim
