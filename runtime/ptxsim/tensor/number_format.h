/// The element formats of matrix instructions, taken apart into significand and exponent.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ptxsim {

enum class NumberFormat : uint8_t { F16, BF16, TF32, E4M3, E5M2, E2M3, E3M2, E2M1, U8, S8, F32, S32 };

/// Bits of one element where elements lie densely.
uint32_t element_bits(NumberFormat format);

/// How many fraction bits a significand carries below its units digit, for every operand format.
constexpr int kFractionBits = 10;

/// The exponent of a zero: below that of any number, so that it never sets the alignment of a sum.
constexpr int kZeroExponent = -1000;

/// A finite number as significand * 2^(exponent - kFractionBits), its exponent as stored: the significand of a
/// subnormal is not normalised. Infinities and NaN have significand 0 and `special` set.
struct Parts {
  int32_t significand = 0;
  int32_t exponent = kZeroExponent;
  bool special = false;
};

/// Takes apart an operand of a matrix product; `bits` is right-aligned. tf32 uses the top 19 of 32 bits.
Parts take_apart(NumberFormat format, uint32_t bits);

/// The value of the element, infinities and NaN included.
double to_double(NumberFormat format, uint32_t bits);

/// Round to nearest even, overflow to infinity; canonical NaN 0x7fff.
uint16_t round_to_f16(double value);

/// The same to bf16.
uint16_t round_to_bf16(double value);

} // namespace ptxsim
