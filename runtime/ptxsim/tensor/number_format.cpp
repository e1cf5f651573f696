#include "tensor/number_format.h"

#include "numbers/small_float.h"
#include "tensor/vector_clones.h"

#include <cstring>

namespace ptxsim {
namespace {

struct FormatRow {
  SmallFloat format;
  uint32_t bits; // of an element in a dense array
};

// In the order of NumberFormat.
constexpr FormatRow format_rows[] = {
    {f16_format, 16}, {bf16_format, 16}, {tf32_format, 32}, {e4m3_format, 8},
    {e5m2_format, 8}, {e2m3_format, 6},  {e3m2_format, 6},  {e2m1_format, 4},
};

const FormatRow &row_of(NumberFormat format) { return format_rows[static_cast<uint8_t>(format)]; }

/// The bits of a tf32 element that are ignored: it uses the top 19 of 32 bits.
uint32_t unused_bits(NumberFormat format) { return format == NumberFormat::TF32 ? 13 : 0; }

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
    return row_of(format).bits;
  }
}

PTXSIM_VECTOR_CLONES
bool decompose(NumberFormat format, bool negate, const uint32_t *bits, size_t count, int32_t *significand,
               int32_t *exponent) {
  const SmallFloat f = row_of(format).format;
  const uint32_t unused = unused_bits(format);
  const uint32_t top = (1u << f.exponent_bits) - 1, fractions = (1u << f.fraction_bits) - 1;
  // With the largest exponent, fractions from this one on are infinity or NaN.
  const uint32_t least = f.non_finite == SmallFloat::NonFinite::None      ? fractions + 1
                         : f.non_finite == SmallFloat::NonFinite::NanOnly ? fractions
                                                                          : 0;
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
  return decode(row_of(format).format, bits >> unused_bits(format));
}

} // namespace ptxsim
