// The rows and columns of a tcgen05.mma result in tensor memory (PTX ISA, "Data path layout").
#pragma once

#include <cstdint>
#include <vector>

namespace ptxsim {

/// Columns [first, first + count) of row `row` of D, as cells of one lane.
struct AccumulatorRun {
  uint32_t row = 0, first = 0, count = 0;
  uint32_t cta = 0;    ///< 0 or 1 of a pair
  uint32_t lane = 0;   ///< absolute
  uint32_t column = 0; ///< relative to the address of D
};

/// The layout of M x N for one CTA (cta_group 1) or a pair (2); `half` is the 16-lane offset of the address.
/// Layouts D and F, and A and B, of the PTX ISA.
std::vector<AccumulatorRun> accumulator_runs(uint32_t rows, uint32_t columns, uint32_t cta_group, uint32_t half);

/// The lane that holds row `row` of an A operand in tensor memory, which follows the rows of D.
inline uint32_t operand_lane(uint32_t row, uint32_t rows_of_cta, uint32_t half) {
  return rows_of_cta == 64 ? row % 16 + row / 16 * 32 + half : row;
}

} // namespace ptxsim
