// The sum of products of a tensor core: all terms are aligned to the largest exponent, truncated, and added exactly.
#pragma once

#include "tensor/number_format.h"

#include <cstdint>
#include <vector>

namespace ptxsim {

/// One operand of a product, element by element as stored. A is M x K and B is K x N.
struct ElementMatrix {
  ElementMatrix(NumberFormat format, uint32_t rows, uint32_t columns, bool negate = false)
      : format(format), rows(rows), columns(columns), negate(negate), bits(size_t{rows} * columns) {}

  void set(uint32_t row, uint32_t column, uint32_t element) { bits[size_t{row} * columns + column] = element; }

  NumberFormat format;
  uint32_t rows, columns;
  bool negate; ///< negates all elements
  std::vector<uint32_t> bits;
  std::vector<int32_t> exponents; ///< added to the exponent of each element; empty: none
};

/// How a tensor core sums and rounds (measured on hardware; PTX does not specify it).
struct SumRule {
  int fraction_bits = 25; ///< of a term, relative to the largest exponent
  NumberFormat result = NumberFormat::F32;
  int result_fraction_bits = 23; ///< of an f32 result, the rest truncated
  int scale_exponent = 0;        ///< the addend is multiplied by 2^-scale_exponent
};

/// d = a * b + c for float formats; c may be null for zero and may be d. Both are M rows of N words, `pitch`
/// words apart, each holding an f32 or, in its lower half, an f16.
void fused_multiply_add(const ElementMatrix &a, const ElementMatrix &b, const uint32_t *c, uint32_t *d, size_t pitch,
                        const SumRule &rule);

/// The same for 8-bit integers: exact, wrapping to 32 bits or saturating.
void integer_multiply_add(const ElementMatrix &a, const ElementMatrix &b, const uint32_t *c, uint32_t *d, size_t pitch,
                          bool saturate);

/// `value` as f32, truncated toward zero after `fraction_bits`; infinity on overflow.
uint32_t truncate_to_f32(double value, int fraction_bits);

} // namespace ptxsim
