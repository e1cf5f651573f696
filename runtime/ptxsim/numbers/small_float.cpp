#include "numbers/small_float.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ptxsim {

static uint32_t nan_bits(const SmallFloat &format) {
  // The canonical NaN has all bits but the sign set. In a format without NaN they are the largest number.
  return (1u << (format.exponent_bits + format.fraction_bits)) - 1;
}

static uint32_t largest_finite(const SmallFloat &format) {
  uint32_t all = (1u << (format.exponent_bits + format.fraction_bits)) - 1;
  if (format.non_finite == SmallFloat::NonFinite::None)
    return all;
  return format.non_finite == SmallFloat::NonFinite::NanOnly ? all - 1 : all - (1u << format.fraction_bits);
}

/// Rounds `scaled`, the magnitude of a number with the sign `negative`, to an integer.
static uint64_t round_magnitude(double scaled, Rounding rounding, bool negative) {
  double down = std::floor(scaled);
  double rest = scaled - down;
  uint64_t units = uint64_t(down);
  switch (rounding) {
  case Rounding::NearestEven:
    return units + (rest > 0.5 || (rest == 0.5 && (units & 1)));
  case Rounding::NearestAway:
    return units + (rest >= 0.5);
  case Rounding::Up:
    return units + (!negative && rest > 0);
  case Rounding::Down:
    return units + (negative && rest > 0);
  default:
    return units;
  }
}

uint32_t encode(const SmallFloat &format, double value, Rounding rounding, bool finite) {
  if (std::isnan(value))
    return nan_bits(format);
  bool negative = std::signbit(value);
  uint32_t sign = uint32_t(negative) << (format.exponent_bits + format.fraction_bits);
  uint32_t limit = largest_finite(format);
  bool has_infinity = format.non_finite == SmallFloat::NonFinite::Ieee754;
  uint32_t overflowed = finite || !has_infinity ? limit : limit + 1;
  if (!finite && format.non_finite == SmallFloat::NonFinite::NanOnly)
    overflowed = nan_bits(format);
  double magnitude = std::fabs(value);
  if (std::isinf(value))
    return sign | overflowed;
  if (magnitude == 0)
    return sign;
  int exponent = std::max(std::ilogb(magnitude), 1 - format.bias);
  uint64_t units = round_magnitude(std::ldexp(magnitude, format.fraction_bits - exponent), rounding, negative);
  uint64_t hidden = 1ull << format.fraction_bits;
  uint64_t bits = units < hidden ? units : (uint64_t(exponent + format.bias - 1) << format.fraction_bits) + units;
  if (bits <= limit)
    return sign | uint32_t(bits);
  // Rounding towards zero never overflows.
  bool towards_zero =
      rounding == Rounding::Zero || (rounding == Rounding::Up && negative) || (rounding == Rounding::Down && !negative);
  return sign | (towards_zero ? limit : overflowed);
}

double decode(const SmallFloat &format, uint32_t bits) {
  uint32_t fraction = bits & ((1u << format.fraction_bits) - 1);
  uint32_t exponent = bits >> format.fraction_bits & ((1u << format.exponent_bits) - 1);
  double sign = bits >> (format.fraction_bits + format.exponent_bits) & 1 ? -1.0 : 1.0;
  bool largest_exponent = exponent == (1u << format.exponent_bits) - 1;
  if (largest_exponent && format.non_finite == SmallFloat::NonFinite::Ieee754)
    return fraction ? std::nan("") : sign * INFINITY;
  if (largest_exponent && format.non_finite == SmallFloat::NonFinite::NanOnly &&
      fraction == (1u << format.fraction_bits) - 1)
    return std::nan("");
  double significand = double(fraction) + (exponent ? double(1u << format.fraction_bits) : 0.0);
  return sign * std::ldexp(significand, int(exponent ? exponent : 1) - format.bias - format.fraction_bits);
}

float from_bf16(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

float from_f16(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = bits >> 10 & 31, fraction = bits & 0x3FF;
  uint32_t wide;
  if (exponent == 31)
    wide = sign | 0x7F800000 | fraction << 13;
  else if (exponent)
    wide = sign | (exponent + 112) << 23 | fraction << 13;
  else
    return (sign ? -1.0f : 1.0f) * float(fraction) * 0x1p-24f;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

} // namespace ptxsim
