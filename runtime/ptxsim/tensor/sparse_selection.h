// Structured sparsity of A: the elements along K that metadata keeps (PTX ISA 9.7.15.5 and 9.7.16.10.8).
#pragma once

#include "tensor/fused_sum.h"

#include <functional>
#include <string>

namespace ptxsim {

/// The positions along K of the kept elements of each row of A. A group of four elements keeps two, of tf32 a group of
/// two keeps one; a nibble of the metadata has their indices in ascending order, of tf32 those of its two halves.
class SparseSelection {
public:
  /// `kept` elements of each row.
  SparseSelection(NumberFormat format, uint32_t rows, uint32_t kept);

  uint32_t groups() const { return kept / kept_of_group; }
  /// Bits of the metadata of a row.
  uint32_t row_bits() const { return 4 * groups(); }
  /// Sets the groups of a row from `first` on, of which the lowest bits have the first.
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

/// Calls multiply(row, a, b) for each row of A: its kept elements, and the rows of B that they meet.
void visit_sparse_rows(const ElementMatrix &left, const ElementMatrix &right, const SparseSelection &selection,
                       const std::function<void(uint32_t, const ElementMatrix &, const ElementMatrix &)> &multiply);

} // namespace ptxsim
