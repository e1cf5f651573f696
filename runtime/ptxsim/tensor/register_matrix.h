// Matrix fragments between the registers of a warp and numbers.
#pragma once

#include "tensor/fused_sum.h"
#include "warp.h"

namespace ptxsim {

/// Puts the A fragment in `registers` into rows 0 to 15 of `matrix`.
void load_a_fragment(Warp &warp, const std::vector<Operand> &registers, ElementMatrix &matrix);

/// Puts the B fragment into `matrix`, K x 8.
void load_b_fragment(Warp &warp, const std::vector<Operand> &registers, ElementMatrix &matrix);

/// C as a row-major array of 16 rows, one element per 32 bits.
std::vector<uint32_t> load_accumulator(Warp &warp, const std::vector<Operand> &registers, NumberFormat format,
                                       uint32_t columns);

/// D of the same form, into the lanes of `mask`. Marking the registers written is left to the caller.
void store_accumulator(Warp &warp, const std::vector<Operand> &registers, NumberFormat format, uint32_t columns,
                       const std::vector<uint32_t> &elements);

} // namespace ptxsim
