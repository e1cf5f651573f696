// Operands of a matrix instruction: reading their elements from shared or tensor memory.
#pragma once

#include "tensor/fused_sum.h"
#include "tensor/matrix_descriptor.h"

#include <functional>

namespace ptxsim {

/// Bytes of a core-matrix row, a unit. Every descriptor layout keeps it contiguous.
constexpr uint32_t unit_bytes = 16;

/// An operand in shared memory: `rows` along M or N, `depth` along K.
struct SharedOperand {
  MatrixLayout layout;
  NumberFormat format = NumberFormat::F16;
  uint32_t rows = 0, depth = 0;
  bool depth_major = true; ///< K-major; else MN-major ("transposed")
  bool negate = false;
  uint32_t begin = 0;  ///< the first row, relative to the start of the descriptor
  bool packed = false; ///< two 4-bit elements per byte, without padding

  uint32_t unit_elements() const;
  /// Bytes of a unit that hold elements. The rest is padding.
  uint32_t unit_data_bytes() const;
};

/// Bytes that an element occupies in an operand. 4-bit and 6-bit elements occupy one, since sixteen of them are padded
/// to a unit.
uint32_t container_bytes(NumberFormat format);

/// Calls visit(address) for each unit of the operand.
void visit_units(const SharedOperand &operand, const std::function<void(uint32_t)> &visit);

/// Stores element (row, depth) of the operand at (first_row + row, depth) of `matrix` or, if `transposed`, at
/// (depth, first_row + row).
void load_operand(const SharedOperand &operand, const uint8_t *shared, ElementMatrix &matrix, uint32_t first_row,
                  bool transposed);

/// The elements of a unit: sixteen at its start for 4-bit and 6-bit formats, dense for others.
void unpack_unit(NumberFormat format, const uint8_t *bytes, uint32_t *elements);

} // namespace ptxsim
