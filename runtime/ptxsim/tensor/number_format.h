// The element formats of matrix instructions, and their decomposition into significand and exponent.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ptxsim {

enum class NumberFormat : uint8_t { F16, BF16, TF32, E4M3, E5M2, E2M3, E3M2, E2M1, U8, S8, F32, S32 };

/// Bits of one element in a dense array.
uint32_t element_bits(NumberFormat format);

/// Fraction bits of a significand, the same for every operand format.
constexpr int operand_fraction_bits = 10;

/// The exponent of zero: below that of any number, so that a zero never determines the alignment of a sum.
constexpr int zero_exponent = -1000;

/// Decomposes elements: value = significand * 2^(exponent - operand_fraction_bits), the exponent as stored, so that the
/// significand of a subnormal is not normalised. Infinities and NaN become zero; returns true if there are any.
/// Elements are right-aligned, except tf32, which uses the top 19 of 32 bits.
bool decompose(NumberFormat format, bool negate, const uint32_t *bits, size_t count, int32_t *significand,
               int32_t *exponent);

/// The value of the element, infinities and NaN included.
double to_double(NumberFormat format, uint32_t bits);

} // namespace ptxsim
