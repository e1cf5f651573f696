// Reads and writes of matrix fragments in the registers of a warp.
#pragma once

#include "execution/warp.h"
#include "tensor/fused_sum.h"

namespace ptxsim {

/// Reads the A fragment in `registers` into rows 0 to 15 of `matrix`.
void load_a_fragment(Warp &warp, const std::vector<Operand> &registers, ElementMatrix &matrix);

/// Reads the B fragment into `matrix`, K x 8.
void load_b_fragment(Warp &warp, const std::vector<Operand> &registers, ElementMatrix &matrix);

/// C as a row-major array of 16 rows, one element per 32 bits.
std::vector<uint32_t> load_accumulator(Warp &warp, const std::vector<Operand> &registers, NumberFormat format,
                                       uint32_t columns);

/// Writes D, in the form of load_accumulator(), to the registers of all lanes. The caller marks them as written.
void store_accumulator(Warp &warp, const std::vector<Operand> &registers, NumberFormat format, uint32_t columns,
                       const std::vector<uint32_t> &elements);

} // namespace ptxsim
