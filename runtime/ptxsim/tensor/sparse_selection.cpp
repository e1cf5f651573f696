#include "tensor/sparse_selection.h"

#include <algorithm>

namespace ptxsim {
namespace {

std::string binary(uint32_t nibble) {
  std::string text = "0b";
  for (int bit = 3; bit >= 0; --bit)
    text += nibble >> bit & 1 ? '1' : '0';
  return text;
}

} // namespace

SparseSelection::SparseSelection(NumberFormat format, uint32_t rows, uint32_t kept)
    : is_single(format == NumberFormat::TF32), kept(kept), kept_of_group(is_single ? 1 : 2),
      positions(size_t{rows} * kept) {}

void SparseSelection::set(uint32_t row, uint32_t first, uint32_t count, uint32_t nibbles) {
  constexpr uint32_t first_of_two = 0b0100, second_of_two = 0b1110;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t nibble = nibbles >> 4 * i & 0xf, group = first + i, low = nibble & 3, high = nibble >> 2;
    const bool legal = is_single ? nibble == first_of_two || nibble == second_of_two : low < high;
    if (!legal && wrong.empty())
      wrong = std::string("expected metadata of ") +
              (is_single ? "0b0100 or 0b1110" : "two ascending indices, as 0b0100") + ", got " + binary(nibble) +
              " for row " + std::to_string(row) + ", group " + std::to_string(group);
    uint32_t *at = &positions[size_t{row} * kept + size_t{group} * kept_of_group];
    if (is_single) {
      at[0] = 2 * group + (nibble == second_of_two);
    } else {
      at[0] = 4 * group + low;
      at[1] = 4 * group + high;
    }
  }
}

void visit_sparse_rows(const ElementMatrix &left, const ElementMatrix &right, const SparseSelection &selection,
                       const std::function<void(uint32_t, const ElementMatrix &, const ElementMatrix &)> &multiply) {
  ElementMatrix a(left.format, 1, left.columns, left.negate);
  ElementMatrix b(right.format, left.columns, right.columns, right.negate);
  for (uint32_t row = 0; row < left.rows; ++row) {
    std::copy_n(&left.bits[size_t{row} * left.columns], left.columns, a.bits.begin());
    for (uint32_t k = 0; k < left.columns; ++k)
      std::copy_n(&right.bits[size_t{selection.position(row, k)} * right.columns], right.columns,
                  &b.bits[size_t{k} * right.columns]);
    multiply(row, a, b);
  }
}

} // namespace ptxsim
