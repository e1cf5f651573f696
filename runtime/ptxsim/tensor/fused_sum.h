/// The sum of products of a tensor core: all terms aligned to the largest exponent, truncated, added exactly.
#pragma once

#include "tensor/number_format.h"

#include <cstdint>
#include <vector>

namespace ptxsim {

/// One operand of a product, taken apart once for each instruction. Rows of `columns` elements; A is stored
/// M x K and B is stored K x N.
struct FactorMatrix {
  FactorMatrix(NumberFormat format, uint32_t rows, uint32_t columns);

  void set(uint32_t row, uint32_t column, uint32_t element_bits, bool negate = false);

  NumberFormat format;
  uint32_t rows, columns;
  bool any_special = false; ///< an infinity or NaN is among the elements
  std::vector<int32_t> significand, exponent;
  std::vector<uint32_t> bits; ///< of the elements as they were set
  std::vector<uint8_t> negated;
};

/// How a unit sums and rounds (measured on hardware; PTX leaves it open).
struct SumRule {
  int fraction_bits = 25; ///< kept below the units digit of the largest term
  NumberFormat result = NumberFormat::F32;
  int result_fraction_bits = 23; ///< of an f32 result, the rest truncated
  int scale_exponent = 0;        ///< the addend counts times 2^-scale_exponent
};

/// d = a * b + c for float formats; c may be null for zero and may be d. Both are M rows of N words, `pitch`
/// words apart, each holding an f32 or, in its lower half, an f16.
void fused_multiply_add(const FactorMatrix &a, const FactorMatrix &b, const uint32_t *c, uint32_t *d, size_t pitch,
                        const SumRule &rule);

/// The same for 8-bit integers: exact, wrapping to 32 bits or saturating.
void integer_multiply_add(const FactorMatrix &a, const FactorMatrix &b, const uint32_t *c, uint32_t *d, size_t pitch,
                          bool saturate);

} // namespace ptxsim
