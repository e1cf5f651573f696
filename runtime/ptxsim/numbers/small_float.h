// Floating point formats of up to 19 bits: conversion from bits, and to bits with every rounding mode of PTX.
#pragma once

#include <cstdint>
#include <type_traits>

namespace ptxsim {

enum class Rounding : uint8_t { NearestEven, Zero, Down, Up, NearestAway };

struct SmallFloat {
  /// The values with the largest exponent: as in IEEE 754, one NaN at the end, or numbers only.
  enum class NonFinite : uint8_t { Ieee754, NanOnly, None };
  int exponent_bits;
  int fraction_bits;
  int bias;
  NonFinite non_finite;
};

inline constexpr SmallFloat f16_format{5, 10, 15, SmallFloat::NonFinite::Ieee754};
inline constexpr SmallFloat bf16_format{8, 7, 127, SmallFloat::NonFinite::Ieee754};
inline constexpr SmallFloat tf32_format{8, 10, 127, SmallFloat::NonFinite::Ieee754};
inline constexpr SmallFloat e4m3_format{4, 3, 7, SmallFloat::NonFinite::NanOnly};
inline constexpr SmallFloat e5m2_format{5, 2, 15, SmallFloat::NonFinite::Ieee754};
inline constexpr SmallFloat e2m3_format{2, 3, 1, SmallFloat::NonFinite::None};
inline constexpr SmallFloat e3m2_format{3, 2, 3, SmallFloat::NonFinite::None};
inline constexpr SmallFloat e2m1_format{2, 1, 1, SmallFloat::NonFinite::None};

/// `value` rounded to the format. Values that overflow become infinity, or the largest finite number if `finite` is
/// set.
uint32_t encode(const SmallFloat &format, double value, Rounding rounding, bool finite);
double decode(const SmallFloat &format, uint32_t bits);

inline uint16_t to_f16(double value) { return uint16_t(encode(f16_format, value, Rounding::NearestEven, false)); }
inline uint16_t to_bf16(double value) { return uint16_t(encode(bf16_format, value, Rounding::NearestEven, false)); }
float from_f16(uint16_t bits);
float from_bf16(uint16_t bits);

/// An f16 as stored.
struct F16 {
  uint16_t bits;
};
/// A bf16 as stored.
struct BF16 {
  uint16_t bits;
};
template <class T> inline constexpr bool is_short_float = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;

inline float widen(F16 value) { return from_f16(value.bits); }
inline float widen(BF16 value) { return from_bf16(value.bits); }
template <class T> T narrow(double value) {
  if constexpr (std::is_same_v<T, F16>)
    return {to_f16(value)};
  else
    return {to_bf16(value)};
}

} // namespace ptxsim
