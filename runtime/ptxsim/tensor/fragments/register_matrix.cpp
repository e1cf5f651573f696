#include "tensor/fragments/register_matrix.h"

#include "tensor/fragments/fragment.h"
#include "tensor/operand_matrix.h"

namespace ptxsim {
namespace {

/// Calls visit(lane, index, part, bits) for each element of the registers.
template <class Visit>
void visit_parts(Warp &warp, const std::vector<Operand> &registers, uint32_t bytes, Visit visit) {
  const uint32_t per_register = 4 / bytes, mask = bytes == 4 ? ~0u : (1u << 8 * bytes) - 1;
  for (uint32_t index = 0; index < registers.size(); ++index)
    for (uint32_t lane = 0; lane < lane_count; ++lane)
      for (uint32_t part = 0; part < per_register; ++part)
        visit(lane, index, part, warp.lanes<uint32_t>(registers[index])[lane] >> part * 8 * bytes & mask);
}

/// Calls visit(lane, index, part, at) with the position of each element in a row-major array.
template <class Visit>
void visit_accumulator(const std::vector<Operand> &registers, NumberFormat format, uint32_t columns, Visit visit) {
  const bool half = format == NumberFormat::F16;
  for (uint32_t index = 0; index < registers.size(); ++index)
    for (uint32_t lane = 0; lane < lane_count; ++lane)
      for (uint32_t part = 0; part < (half ? 2 : 1); ++part) {
        const Element element = half ? half_element(lane, index, part) : word_element(lane, index);
        visit(lane, index, part, element.row * columns + element.column);
      }
}

} // namespace

void load_a_fragment(Warp &warp, const std::vector<Operand> &registers, ElementMatrix &matrix) {
  const uint32_t bytes = container_bytes(matrix.format);
  visit_parts(warp, registers, bytes, [&](uint32_t lane, uint32_t index, uint32_t part, uint32_t bits) {
    const Element element = a_element(lane, index, part, 4 / bytes);
    matrix.set(element.row, element.column, bits);
  });
}

void load_b_fragment(Warp &warp, const std::vector<Operand> &registers, ElementMatrix &matrix) {
  const uint32_t bytes = container_bytes(matrix.format);
  visit_parts(warp, registers, bytes, [&](uint32_t lane, uint32_t index, uint32_t part, uint32_t bits) {
    const Element element = b_element(lane, index, part, 4 / bytes);
    matrix.set(element.row, element.column, bits);
  });
}

std::vector<uint32_t> load_accumulator(Warp &warp, const std::vector<Operand> &registers, NumberFormat format,
                                       uint32_t columns) {
  std::vector<uint32_t> elements(16 * size_t{columns});
  const uint32_t mask = format == NumberFormat::F16 ? 0xffff : ~0u;
  visit_accumulator(registers, format, columns, [&](uint32_t lane, uint32_t index, uint32_t part, uint32_t at) {
    elements[at] = warp.lanes<uint32_t>(registers[index])[lane] >> 16 * part & mask;
  });
  return elements;
}

void store_accumulator(Warp &warp, const std::vector<Operand> &registers, NumberFormat format, uint32_t columns,
                       const std::vector<uint32_t> &elements) {
  visit_accumulator(registers, format, columns, [&](uint32_t lane, uint32_t index, uint32_t part, uint32_t at) {
    uint32_t &to = warp.lanes<uint32_t>(registers[index])[lane];
    to = part == 0 ? elements[at] : to | elements[at] << 16;
  });
}

} // namespace ptxsim
