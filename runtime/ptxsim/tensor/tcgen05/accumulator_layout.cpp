#include "tensor/tcgen05/accumulator_layout.h"

#include "tensor/tcgen05/tensor_memory.h"

namespace ptxsim {

std::vector<AccumulatorRun> accumulator_runs(uint32_t rows, uint32_t columns, uint32_t cta_group, uint32_t half) {
  std::vector<AccumulatorRun> runs;
  const uint32_t rows_of_cta = rows / cta_group;
  for (uint32_t row = 0; row < rows; ++row) {
    const uint32_t cta = row / rows_of_cta, own = row % rows_of_cta;
    if (rows_of_cta == 128) {
      runs.push_back({row, 0, columns, cta, own, 0});
    } else if (cta_group == 1) {
      runs.push_back({row, 0, columns, 0, operand_lane(own, 64, half), 0});
    } else { // 64 rows per CTA: the second half of the columns in the upper 64 lanes
      runs.push_back({row, 0, columns / 2, cta, own, 0});
      runs.push_back({row, columns / 2, columns / 2, cta, own + 64, 0});
    }
  }
  return runs;
}

std::vector<AccumulatorRun> weight_stationary_runs(uint32_t rows, uint32_t columns) {
  std::vector<AccumulatorRun> runs;
  const uint32_t groups = TensorMemory::lanes / rows, part = columns / groups;
  for (uint32_t group = 0; group < groups; ++group)
    for (uint32_t row = 0; row < rows; ++row)
      runs.push_back({row, group * part, part, 0, group * rows + row, 0});
  return runs;
}

} // namespace ptxsim
