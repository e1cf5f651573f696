// The rows and columns of a tcgen05.mma result in tensor memory (PTX ISA, "Data path layout").
#pragma once

#include <cstdint>
#include <vector>

namespace ptxsim {

/// Columns [first, first + count) of row `row` of D, which are consecutive cells of one lane.
struct AccumulatorRun {
  uint32_t row = 0, first = 0, count = 0;
  uint32_t cta = 0;    ///< 0 or 1 of a pair
  uint32_t lane = 0;   ///< absolute
  uint32_t column = 0; ///< relative to the address of D
};

/// The layout of an M x N result for one CTA (cta_group 1) or a pair (2): layouts A, B, D and F of the PTX ISA. `half`
/// is the lane of the address, 0 or 16.
std::vector<AccumulatorRun> accumulator_runs(uint32_t rows, uint32_t columns, uint32_t cta_group, uint32_t half);

/// The same for tcgen05.mma.ws: layouts D, E and G. Each group of `rows` lanes has a part of the columns.
std::vector<AccumulatorRun> weight_stationary_runs(uint32_t rows, uint32_t columns);

/// The lane that holds row `row` of an A operand in tensor memory, the same as for D.
inline uint32_t operand_lane(uint32_t row, uint32_t rows_of_cta, uint32_t half) {
  return rows_of_cta == 64 ? row % 16 + row / 16 * 32 + half : row;
}

} // namespace ptxsim
