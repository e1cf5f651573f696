#include "tensor/number_format.h"

#include "tensor/vector_clones.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace ptxsim {
namespace {

/// The meaning of the largest exponent code.
enum class Top { Numbers, NanAtEnd, InfinityAndNan };

struct FloatFacts {
  int exponent_bits, fraction_bits, bias;
  Top top;
  uint32_t bits;
};

constexpr FloatFacts float_facts[] = {
    {5, 10, 15, Top::InfinityAndNan, 16},  // F16
    {8, 7, 127, Top::InfinityAndNan, 16},  // BF16
    {8, 10, 127, Top::InfinityAndNan, 32}, // TF32
    {4, 3, 7, Top::NanAtEnd, 8},           // E4M3
    {5, 2, 15, Top::InfinityAndNan, 8},    // E5M2
    {2, 3, 1, Top::Numbers, 6},            // E2M3
    {3, 2, 3, Top::Numbers, 6},            // E3M2
    {2, 1, 1, Top::Numbers, 4},            // E2M1
};

const FloatFacts &facts(NumberFormat format) { return float_facts[static_cast<uint8_t>(format)]; }

/// The stored fields; tf32 is in the upper bits of its 32 bits.
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

PTXSIM_VECTOR_CLONES
bool take_apart(NumberFormat format, bool negate, const uint32_t *bits, size_t count, int32_t *significand,
                int32_t *exponent) {
  const FloatFacts f = facts(format);
  const uint32_t unused = format == NumberFormat::TF32 ? 13 : 0;
  const uint32_t top = (1u << f.exponent_bits) - 1, fractions = (1u << f.fraction_bits) - 1;
  // The least fraction of the top exponent that is not a number.
  const uint32_t least = f.top == Top::Numbers ? fractions + 1 : f.top == Top::NanAtEnd ? fractions : 0;
  const uint32_t up = operand_fraction_bits - f.fraction_bits, sign_at = f.exponent_bits + f.fraction_bits;
  uint32_t specials = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t element = bits[i] >> unused;
    const uint32_t code = element >> f.fraction_bits & top, fraction = element & fractions;
    const bool special = (code == top) & (fraction >= least);
    const uint32_t hidden = code ? fractions + 1 : 0;
    const int32_t magnitude = special ? 0 : static_cast<int32_t>((fraction | hidden) << up);
    const bool negative = (element >> sign_at & 1) != static_cast<uint32_t>(negate);
    significand[i] = negative ? -magnitude : magnitude;
    exponent[i] = magnitude ? static_cast<int32_t>(code ? code : 1) - f.bias : zero_exponent;
    specials |= special;
  }
  return specials != 0;
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
  const int hidden = fields.exponent ? 1 << f.fraction_bits : 0;
  const double magnitude =
      std::ldexp(fields.fraction | hidden, std::max(fields.exponent, 1) - f.bias - f.fraction_bits);
  return fields.negative ? -magnitude : magnitude;
}

uint16_t round_to_f16(double value) { return round_to_16_bits(value, facts(NumberFormat::F16)); }

uint16_t round_to_bf16(double value) { return round_to_16_bits(value, facts(NumberFormat::BF16)); }

} // namespace ptxsim
