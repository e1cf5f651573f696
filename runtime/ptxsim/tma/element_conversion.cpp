#include "tma/element_conversion.h"

#include "memory/memory.h"
#include "numbers/oob_nan.h"

#include <cstring>

namespace ptxsim {
namespace {

constexpr uint32_t exponent_mask = 0x7F800000, sign_mask = 0x80000000;

/// To nearest even at ten fraction bits; infinities and NaNs keep their bits (docs/decisions/multiplies.md, "tf32").
uint32_t rounded_to_tf32(uint32_t bits) {
  constexpr uint32_t dropped = 13;
  if ((bits & exponent_mask) == exponent_mask)
    return bits;
  const uint32_t even = bits >> dropped & 1;
  return (bits + (1u << (dropped - 1)) - 1 + even) >> dropped << dropped;
}

/// Subnormal numbers become zeros of their sign.
uint32_t flushed(uint32_t bits) { return bits & exponent_mask ? bits : bits & sign_mask; }

uint32_t flushed_and_rounded_to_tf32(uint32_t bits) { return rounded_to_tf32(flushed(bits)); }

template <uint32_t (*Convert)(uint32_t)> void convert_each(uint8_t *elements, uint32_t bytes) {
  for (uint32_t at = 0; at < bytes; at += sizeof(uint32_t))
    store_value<uint32_t>(elements + at, Convert(load_value<uint32_t>(elements + at)));
}

} // namespace

Conversion load_conversion(TensorElement element) {
  switch (element) {
  case TensorElement::TF32:
    return convert_each<rounded_to_tf32>;
  case TensorElement::F32Ftz:
    return convert_each<flushed>;
  case TensorElement::TF32Ftz:
    return convert_each<flushed_and_rounded_to_tf32>;
  default:
    return nullptr;
  }
}

void fill_outside(bool with_nan, uint8_t *bytes, uint32_t count) {
  std::memset(bytes, 0, count);
  for (uint32_t at = 0; with_nan && at + sizeof oob_nan <= count; at += sizeof oob_nan)
    store_value<uint16_t>(bytes + at, oob_nan);
}

void pack_six_bits(uint8_t *to, const uint8_t *from) {
  for (uint32_t group = 0; group < 4; ++group, from += 4, to += 3) {
    const uint32_t bits = (from[0] & 63u) | (from[1] & 63u) << 6 | (from[2] & 63u) << 12 | (from[3] & 63u) << 18;
    for (uint32_t i = 0; i < 3; ++i)
      to[i] = static_cast<uint8_t>(bits >> 8 * i);
  }
}

} // namespace ptxsim
