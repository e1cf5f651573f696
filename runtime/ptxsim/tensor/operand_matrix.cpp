#include "tensor/operand_matrix.h"

#include "memory/memory.h"

namespace ptxsim {
namespace {

/// Calls visit(row, depth) for the first element of each unit.
template <class Visit> void visit_corners(const SharedOperand &operand, Visit visit) {
  const uint32_t step = operand.unit_elements();
  const uint32_t row_step = operand.depth_major ? 1 : step, depth_step = operand.depth_major ? step : 1;
  for (uint32_t row = 0; row < operand.rows; row += row_step)
    for (uint32_t depth = 0; depth < operand.depth; depth += depth_step)
      visit(row, depth);
}

uint32_t unit_address(const SharedOperand &operand, uint32_t row, uint32_t depth) {
  if (operand.packed)
    return operand.layout.address(operand.begin + row, depth / 2, 1, operand.depth_major);
  return operand.layout.address(operand.begin + row, depth, container_bytes(operand.format), operand.depth_major);
}

/// `count` elements of `width` bits, little-endian, at the start of the unit.
void unpack_narrow(const uint8_t *bytes, uint32_t width, uint32_t count, uint32_t *elements) {
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t at = i * width;
    const uint32_t pair = bytes[at / 8] | (at / 8 + 1 < unit_bytes ? bytes[at / 8 + 1] << 8 : 0);
    elements[i] = pair >> at % 8 & ((1u << width) - 1);
  }
}

} // namespace

uint32_t container_bytes(NumberFormat format) {
  const uint32_t bits = element_bits(format);
  return bits < 8 ? 1 : bits / 8;
}

uint32_t SharedOperand::unit_elements() const { return packed ? 2 * unit_bytes : unit_bytes / container_bytes(format); }

uint32_t SharedOperand::unit_data_bytes() const { return unit_elements() * element_bits(format) / 8; }

void visit_units(const SharedOperand &operand, const std::function<void(uint32_t)> &visit) {
  visit_corners(operand, [&](uint32_t row, uint32_t depth) { visit(unit_address(operand, row, depth)); });
}

void unpack_unit(NumberFormat format, const uint8_t *bytes, uint32_t *elements) {
  const uint32_t bits = element_bits(format);
  if (bits < 8)
    return unpack_narrow(bytes, bits, unit_bytes, elements);
  const uint32_t size = bits / 8;
  for (uint32_t i = 0; i < unit_bytes / size; ++i)
    elements[i] = size == 1   ? bytes[i]
                  : size == 2 ? load_value<uint16_t>(bytes + 2 * i)
                              : load_value<uint32_t>(bytes + 4 * i);
}

void load_operand(const SharedOperand &operand, const uint8_t *shared, ElementMatrix &matrix, uint32_t first_row,
                  bool transposed) {
  const uint32_t count = operand.unit_elements();
  visit_corners(operand, [&](uint32_t row, uint32_t depth) {
    uint32_t elements[2 * unit_bytes];
    const uint8_t *unit = shared + unit_address(operand, row, depth);
    if (operand.packed)
      unpack_narrow(unit, element_bits(operand.format), count, elements);
    else
      unpack_unit(operand.format, unit, elements);
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t r = first_row + row + (operand.depth_major ? 0 : i), k = depth + (operand.depth_major ? i : 0);
      matrix.set(transposed ? k : r, transposed ? r : k, elements[i]);
    }
  });
}

} // namespace ptxsim
