#include "tensor/tcgen05/block_scaled_sum.h"

#include <algorithm>
#include <cmath>

namespace ptxsim {
namespace {

/// Products of 4-bit elements that are added exactly.
constexpr uint32_t group_products = 16;
/// Fraction bits of a term of 4-bit elements, relative to the largest exponent.
constexpr int fraction_bits = 35;
/// Fraction bits of a scaled sum: one of each element, three of each scale factor.
constexpr int scaled_bits = 8;
constexpr int f32_fraction_bits = 23;
constexpr uint32_t canonical_nan = 0x7fffffff;

/// value = significand / 8 * 2^exponent.
struct Factor {
  int32_t significand = 0, exponent = zero_exponent;
  bool is_nan = false;
};

Factor factor_of(ScaleFormat format, uint8_t code) {
  if (format == ScaleFormat::UE8M0)
    return {8, code - 127, code == 0xff};
  // The sign bit of UE4M3 is not used.
  const int32_t biased = code >> 3 & 0xf, fraction = code & 7;
  const int32_t significand = biased ? fraction | 8 : fraction;
  return {significand, significand ? std::max(biased, 1) - 7 : zero_exponent, (code & 0x7f) == 0x7f};
}

std::vector<Factor> factors_of(const ScaleFactors &scales) {
  std::vector<Factor> factors(scales.codes.size());
  std::transform(scales.codes.begin(), scales.codes.end(), factors.begin(),
                 [&](uint8_t code) { return factor_of(scales.format, code); });
  return factors;
}

/// A matrix with the exponents of scale factors, one per row or, for B, one per column.
ElementMatrix with_exponents(const ElementMatrix &matrix, const std::vector<Factor> &factors, bool by_column) {
  ElementMatrix scaled = matrix;
  scaled.exponents.resize(scaled.bits.size());
  for (uint32_t row = 0; row < matrix.rows; ++row)
    for (uint32_t column = 0; column < matrix.columns; ++column)
      scaled.exponents[size_t{row} * matrix.columns + column] = factors[by_column ? column : row].exponent;
  return scaled;
}

/// Twice the values of a matrix of E2M1 elements.
std::vector<int32_t> doubled(const ElementMatrix &matrix) {
  constexpr int32_t magnitudes[] = {0, 1, 2, 3, 4, 6, 8, 12};
  std::vector<int32_t> values(matrix.bits.size());
  std::transform(matrix.bits.begin(), matrix.bits.end(), values.begin(), [&](uint32_t bits) {
    const int32_t magnitude = magnitudes[bits & 7];
    return ((bits >> 3 & 1) != 0) != matrix.negate ? -magnitude : magnitude;
  });
  return values;
}

/// significand * 2^left, truncated toward zero after a shift to the right.
int64_t aligned(int64_t significand, int left, int right) {
  const int64_t magnitude = std::abs(significand) << left;
  const int64_t kept = right > 62 ? 0 : magnitude >> right;
  return significand < 0 ? -kept : kept;
}

/// A term of the sum: value = significand * 2^(exponent - bits).
struct Term {
  int64_t significand;
  int exponent, bits;
};

/// An f32 that is neither infinite nor NaN.
Term addend_of(uint32_t word) {
  const uint32_t code = word >> 23 & 0xff, fraction = word & 0x7fffff;
  const int64_t magnitude = code ? fraction | 0x800000 : fraction;
  const int exponent = magnitude ? static_cast<int>(std::max(code, 1u)) - 127 : zero_exponent;
  return {word >> 31 ? -magnitude : magnitude, exponent, f32_fraction_bits};
}

uint32_t sum_of(const std::vector<Term> &terms) {
  int largest = zero_exponent;
  for (const Term &term : terms)
    largest = std::max(largest, term.exponent);
  int64_t total = 0;
  for (const Term &term : terms)
    total += aligned(term.significand, fraction_bits - term.bits, largest - term.exponent);
  return truncate_to_f32(std::ldexp(static_cast<double>(total), largest - fraction_bits), f32_fraction_bits);
}

bool is_infinite_or_nan(uint32_t word) { return (word & 0x7f800000) == 0x7f800000; }

/// Products of 4-bit elements.
class GroupedSum {
public:
  GroupedSum(const ElementMatrix &a, const ElementMatrix &b, const ScaleFactors &a_scales, const ScaleFactors &b_scales)
      : a(doubled(a)), b(doubled(b)), a_factors(factors_of(a_scales)), b_factors(factors_of(b_scales)),
        depth(a.columns), columns(b.columns), blocks(a_scales.blocks), groups(depth / group_products) {}

  /// Replaces a row of addends by the results.
  void run(uint32_t row, uint32_t *words) {
    add_products(row);
    for (uint32_t column = 0; column < columns; ++column)
      if (!is_infinite_or_nan(words[column]))
        words[column] = result(row, column, words[column]);
      else if (words[column] & 0x7fffff)
        words[column] = canonical_nan;
  }

private:
  /// sums[group * columns + column]: four times the exact sum of the products of a group.
  void add_products(uint32_t row) {
    sums.assign(size_t{groups} * columns, 0);
    for (uint32_t k = 0; k < depth; ++k) {
      const int32_t left = a[size_t{row} * depth + k];
      const int32_t *right = &b[size_t{k} * columns];
      int32_t *sum = &sums[size_t{k / group_products} * columns];
      for (uint32_t column = 0; column < columns; ++column)
        sum[column] += left * right[column];
    }
  }

  uint32_t result(uint32_t row, uint32_t column, uint32_t addend) const {
    std::vector<Term> terms{addend_of(addend)};
    for (uint32_t group = 0; group < groups; ++group) {
      const uint32_t block = group * blocks / groups;
      const Factor &x = a_factors[row * blocks + block], &y = b_factors[column * blocks + block];
      const int64_t scaled = int64_t{sums[group * columns + column]} * x.significand * y.significand;
      terms.push_back({scaled, x.exponent + y.exponent, scaled_bits});
    }
    return sum_of(terms);
  }

  const std::vector<int32_t> a, b;
  const std::vector<Factor> a_factors, b_factors;
  const uint32_t depth, columns, blocks, groups;
  std::vector<int32_t> sums;
};

/// The rows of A or columns of B that have a scale factor of NaN.
std::vector<bool> nan_rows(const ScaleFactors &scales) {
  std::vector<bool> found(scales.codes.size() / scales.blocks);
  for (size_t i = 0; i < scales.codes.size(); ++i)
    if (factor_of(scales.format, scales.codes[i]).is_nan)
      found[i / scales.blocks] = true;
  return found;
}

} // namespace

void block_scaled_multiply_add(const ElementMatrix &a, const ElementMatrix &b, const ScaleFactors &a_scales,
                               const ScaleFactors &b_scales, const uint32_t *c, uint32_t *d, size_t pitch) {
  if (a_scales.blocks == 1) {
    fused_multiply_add(with_exponents(a, factors_of(a_scales), false), with_exponents(b, factors_of(b_scales), true), c,
                       d, pitch, SumRule{});
  } else {
    GroupedSum sum(a, b, a_scales, b_scales);
    for (uint32_t row = 0; row < a.rows; ++row) {
      uint32_t *words = d + row * pitch;
      if (!c)
        std::fill_n(words, b.columns, 0);
      else if (c != d)
        std::copy_n(c + row * pitch, b.columns, words);
      sum.run(row, words);
    }
  }
  const std::vector<bool> rows = nan_rows(a_scales), columns = nan_rows(b_scales);
  for (uint32_t row = 0; row < a.rows; ++row)
    for (uint32_t column = 0; column < b.columns; ++column)
      if (rows[row] || columns[column])
        d[row * pitch + column] = canonical_nan;
}

} // namespace ptxsim
