// Floating point formats of 16 bits and fewer: bits to value, value to bits with every rounding PTX has.
#pragma once

#include <cstdint>

namespace ptxsim {

enum class Rounding : uint8_t { NearestEven, Zero, Down, Up, NearestAway };

struct SmallFloat {
  enum class Top : uint8_t { InfinityAndNan, NanOnly, Numbers }; // the values with the largest exponent
  int exponent_bits;
  int fraction_bits;
  int bias;
  Top top;
};

inline constexpr SmallFloat f16_format{5, 10, 15, SmallFloat::Top::InfinityAndNan};
inline constexpr SmallFloat bf16_format{8, 7, 127, SmallFloat::Top::InfinityAndNan};
inline constexpr SmallFloat tf32_format{8, 10, 127, SmallFloat::Top::InfinityAndNan};
inline constexpr SmallFloat e4m3_format{4, 3, 7, SmallFloat::Top::NanOnly};
inline constexpr SmallFloat e5m2_format{5, 2, 15, SmallFloat::Top::InfinityAndNan};
inline constexpr SmallFloat e2m3_format{2, 3, 1, SmallFloat::Top::Numbers};
inline constexpr SmallFloat e3m2_format{3, 2, 3, SmallFloat::Top::Numbers};
inline constexpr SmallFloat e2m1_format{2, 1, 1, SmallFloat::Top::Numbers};

/// `value` rounded to the format; beyond its largest finite number infinity, or that number where `finite` is set.
uint32_t encode(const SmallFloat &format, double value, Rounding rounding, bool finite);
double decode(const SmallFloat &format, uint32_t bits);

inline uint16_t to_f16(double value) { return uint16_t(encode(f16_format, value, Rounding::NearestEven, false)); }
inline uint16_t to_bf16(double value) { return uint16_t(encode(bf16_format, value, Rounding::NearestEven, false)); }
float from_f16(uint16_t bits);
float from_bf16(uint16_t bits);

} // namespace ptxsim
