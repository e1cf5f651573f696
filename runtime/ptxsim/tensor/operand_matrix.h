// Operands of a matrix instruction: from their bytes in shared or tensor memory to numbers.
#pragma once

#include "tensor/fused_sum.h"
#include "tensor/matrix_descriptor.h"

#include <functional>

namespace ptxsim {

/// Bytes of a core-matrix row. Every descriptor layout keeps this many contiguous.
constexpr uint32_t unit_bytes = 16;

/// An operand in shared memory: `rows` along M or N, `depth` along K.
struct SharedOperand {
  MatrixLayout layout;
  NumberFormat format = NumberFormat::F16;
  uint32_t rows = 0, depth = 0;
  bool depth_major = true; ///< K-major; else MN-major ("transposed")
  bool negate = false;
  uint32_t begin = 0; ///< the first of the rows, counted from the start of the descriptor
};

/// Bytes that one element takes where operands of matrix instructions lie; a 4-bit or 6-bit element takes one,
/// since sixteen of them are padded to a unit.
uint32_t container_bytes(NumberFormat format);

/// Calls visit(address) for each unit of the operand.
void visit_units(const SharedOperand &operand, const std::function<void(uint32_t)> &visit);

/// Puts the operand's elements at (row, depth), with `first_row` added, into `matrix`; or, where `transposed`,
/// at (depth, row).
void load_operand(const SharedOperand &operand, const uint8_t *shared, ElementMatrix &matrix, uint32_t first_row,
                  bool transposed);

/// The elements of one unit of packed 4-bit and 6-bit formats with their padding, or of dense wider ones.
void unpack_unit(NumberFormat format, const uint8_t *bytes, uint32_t *elements);

} // namespace ptxsim
