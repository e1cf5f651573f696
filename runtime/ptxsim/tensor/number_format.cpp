#include "tensor/number_format.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace ptxsim {
namespace {

/// What the largest exponent code stands for.
enum class Top { Numbers, NanAtEnd, InfinityAndNan };

struct FloatFacts {
  int exponent_bits, fraction_bits, bias;
  Top top;
  uint32_t bits;
};

constexpr FloatFacts kFloats[] = {
    {5, 10, 15, Top::InfinityAndNan, 16},  // F16
    {8, 7, 127, Top::InfinityAndNan, 16},  // BF16
    {8, 10, 127, Top::InfinityAndNan, 32}, // TF32
    {4, 3, 7, Top::NanAtEnd, 8},           // E4M3
    {5, 2, 15, Top::InfinityAndNan, 8},    // E5M2
    {2, 3, 1, Top::Numbers, 6},            // E2M3
    {3, 2, 3, Top::Numbers, 6},            // E3M2
    {2, 1, 1, Top::Numbers, 4},            // E2M1
};

const FloatFacts &facts(NumberFormat format) { return kFloats[static_cast<uint8_t>(format)]; }

/// The stored fields; tf32 lies in the upper bits of its word.
struct Fields {
  bool negative;
  int exponent, fraction;
};

Fields fields_of(NumberFormat format, uint32_t bits) {
  const FloatFacts &f = facts(format);
  if (format == NumberFormat::TF32)
    bits >>= 13;
  const int fraction = static_cast<int>(bits & ((1u << f.fraction_bits) - 1));
  const int exponent = static_cast<int>(bits >> f.fraction_bits & ((1u << f.exponent_bits) - 1));
  return {(bits >> (f.fraction_bits + f.exponent_bits) & 1) != 0, exponent, fraction};
}

bool is_special(const FloatFacts &f, const Fields &fields) {
  if (fields.exponent != (1 << f.exponent_bits) - 1 || f.top == Top::Numbers)
    return false;
  return f.top == Top::InfinityAndNan || fields.fraction == (1 << f.fraction_bits) - 1;
}

uint16_t round_to_16_bits(double value, const FloatFacts &f) {
  if (std::isnan(value))
    return 0x7fff;
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double magnitude = std::fabs(value);
  if (magnitude == 0)
    return sign;
  if (std::isinf(magnitude))
    return static_cast<uint16_t>(sign | ((1 << f.exponent_bits) - 1) << f.fraction_bits);
  const int exponent = std::max(std::ilogb(magnitude), 1 - f.bias);
  const auto units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, f.fraction_bits - exponent)));
  // A significand that rounds up carries into the exponent by itself, and from the largest into infinity.
  const int hidden = 1 << f.fraction_bits;
  const int bits = units < hidden ? units : ((exponent + f.bias - 1) << f.fraction_bits) + units;
  return static_cast<uint16_t>(sign | std::min(bits, ((1 << f.exponent_bits) - 1) << f.fraction_bits));
}

} // namespace

uint32_t element_bits(NumberFormat format) {
  switch (format) {
  case NumberFormat::U8:
  case NumberFormat::S8:
    return 8;
  case NumberFormat::F32:
  case NumberFormat::S32:
    return 32;
  default:
    return facts(format).bits;
  }
}

Parts take_apart(NumberFormat format, uint32_t bits) {
  const FloatFacts &f = facts(format);
  const Fields fields = fields_of(format, bits);
  if (is_special(f, fields))
    return {0, kZeroExponent, true};
  const int hidden = fields.exponent ? 1 << f.fraction_bits : 0;
  const int significand = (hidden | fields.fraction) << (kFractionBits - f.fraction_bits);
  if (significand == 0)
    return {};
  return {fields.negative ? -significand : significand, (fields.exponent ? fields.exponent : 1) - f.bias, false};
}

double to_double(NumberFormat format, uint32_t bits) {
  if (format == NumberFormat::F32) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  const FloatFacts &f = facts(format);
  const Fields fields = fields_of(format, bits);
  if (is_special(f, fields)) {
    if (f.top == Top::NanAtEnd || fields.fraction)
      return std::numeric_limits<double>::quiet_NaN();
    const double infinity = std::numeric_limits<double>::infinity();
    return fields.negative ? -infinity : infinity;
  }
  const Parts parts = take_apart(format, bits);
  return std::ldexp(parts.significand, parts.exponent - kFractionBits);
}

uint16_t round_to_f16(double value) { return round_to_16_bits(value, facts(NumberFormat::F16)); }

uint16_t round_to_bf16(double value) { return round_to_16_bits(value, facts(NumberFormat::BF16)); }

} // namespace ptxsim
