// Structured sparsity of A: the elements along K that metadata keeps (PTX ISA 9.7.15.5 and 9.7.16.10.8).
#pragma once

#include "tensor/fused_sum.h"

#include <functional>
#include <string>

namespace ptxsim {

/// The positions along K of the kept elements of each row of A. A group of four elements keeps two, and its nibble has
/// their indices in ascending order. A group of two tf32 elements keeps one, and its nibble has the indices of the
/// 16-bit halves of this element.
class SparseSelection {
public:
  /// `kept` elements of each row.
  SparseSelection(NumberFormat format, uint32_t rows, uint32_t kept);

  /// Sets groups [first, first + count) of a row. The lowest four bits of the nibbles are those of the first group.
  void set(uint32_t row, uint32_t first, uint32_t count, uint32_t nibbles);
  uint32_t position(uint32_t row, uint32_t index) const { return positions[size_t{row} * kept + index]; }
  /// "expected ..., got ..." for the first illegal nibble, or empty.
  const std::string &violation() const { return wrong; }

private:
  bool is_single;
  uint32_t kept, kept_of_group;
  std::vector<uint32_t> positions;
  std::string wrong;
};

/// Calls multiply(row, a, b) for each row of A, with its kept elements and the rows of B at their positions.
void visit_sparse_rows(const ElementMatrix &left, const ElementMatrix &right, const SparseSelection &selection,
                       const std::function<void(uint32_t, const ElementMatrix &, const ElementMatrix &)> &multiply);

} // namespace ptxsim
