// Compiled with -frounding-math.
#include "opcodes/conversion/packed_conversion.h"
#include "execution/defined_bytes.h"
#include "execution/lanewise.h"
#include "opcodes/conversion/conversion_values.h"

#include <algorithm>
#include <cmath>

namespace ptxsim {

uint32_t packed_bits(Type type) {
  switch (type) {
  case Type::F16x2:
  case Type::BF16x2:
    return 16;
  case Type::E2M1x2:
  case Type::E2M1x4:
    return 4;
  case Type::E4M3x2:
  case Type::E5M2x2:
  case Type::E2M3x2:
  case Type::E3M2x2:
  case Type::UE8M0x2:
  case Type::S2F6x2:
  case Type::E4M3x4:
  case Type::E5M2x4:
  case Type::E2M3x4:
  case Type::E3M2x4:
    return 8;
  default:
    return 0;
  }
}

namespace {

/// The exponent of |value|, rounded; all ones for NaN.
uint64_t power_of_two_bits(double value, Rounding rounding) {
  if (std::isnan(value))
    return 255;
  double magnitude = std::fabs(value);
  if (magnitude == 0)
    return 0;
  if (std::isinf(magnitude))
    return 254;
  int exponent = std::ilogb(magnitude);
  bool exact = std::ldexp(1.0, exponent) == magnitude;
  if (!exact && rounding == Rounding::Up)
    ++exponent;
  return uint64_t(std::clamp(exponent + 127, 0, 254));
}

constexpr double fixed_point_units = 64; // of s2f6, a signed number with six fraction bits
constexpr double largest_fixed_point = 127;

/// PTX ISA 9.7.9.22: NaN becomes the largest number.
uint64_t fixed_point_bits(Warp &warp, double value, const Instruction &in) {
  if (in.settings[Relu] && value < 0)
    value = 0;
  const double units = std::nearbyint(value * fixed_point_units);
  if (units < -largest_fixed_point)
    warp.unconfirmed("the result of a conversion to s2f6 of a number below -127/64");
  const double limited = std::isnan(units) ? largest_fixed_point : std::clamp(units, -128.0, largest_fixed_point);
  return uint64_t(int64_t(limited)) & 0xFF;
}

uint64_t element_to_bits(Warp &warp, Type type, double value, const Instruction &in) {
  if (type == Type::UE8M0x2)
    return power_of_two_bits(value, Rounding(in.settings[Rounded]));
  if (type == Type::S2F6x2)
    return fixed_point_bits(warp, value, in);
  return float_bits(type, value, in);
}

double power_of_two(uint32_t bits) { return bits == 255 ? std::nan("") : std::ldexp(1.0, int(bits) - 127); }

double element_value(Type type, uint32_t bits) {
  if (type == Type::UE8M0x2)
    return power_of_two(bits);
  if (type == Type::S2F6x2)
    return int8_t(bits) / fixed_point_units;
  return decode(format_of(type), bits);
}

/// The scale factor of `part` in a lane, 1 without .scaled. The operand is the last one.
double scale_factor(Warp &warp, const Instruction &in, uint32_t lane, uint32_t part) {
  return in.settings[Scaled] ? power_of_two(uint32_t(warp.bits(in.operands.back(), lane) >> 8 * part & 0xFF)) : 1;
}

void require_sources(Warp &warp, const Instruction &in) {
  for (size_t i = 1; i < in.operands.size(); ++i)
    if (in.operands[i].kind == Operand::Kind::Vector)
      for (const Operand &element : in.operands[i].elements)
        warp.require(element);
    else
      warp.require(in.operands[i]);
}

/// d = {a in the upper half, b in the lower half}. Sources are divided by their scale factors.
Outcome pack_floats(Warp &warp, const Instruction &in) {
  const Operand &d = in.operands[0], &a = in.operands[1], &b = in.operands[2];
  require_sources(warp, in);
  uint32_t width = packed_bits(in.type);
  float *high = warp.lanes<float>(a), *low = warp.lanes<float>(b);
  for_each_lane(warp.mask, [&](uint32_t lane) {
    const uint64_t upper = element_to_bits(warp, in.type, high[lane] / scale_factor(warp, in, lane, 1), in);
    const uint64_t lower = element_to_bits(warp, in.type, low[lane] / scale_factor(warp, in, lane, 0), in);
    warp.set_bits(d, lane, upper << width | lower);
  });
  warp.wrote(d);
  return Outcome::Next;
}

/// Each element of d is the element of a. Numbers of s2f6 are divided by the scale factors, others multiplied.
Outcome convert_packed(Warp &warp, const Instruction &in) {
  const Operand &d = in.operands[0], &a = in.operands[1];
  require_sources(warp, in);
  uint32_t from = packed_bits(in.from_type), to = packed_bits(in.type);
  for_each_lane(warp.mask, [&](uint32_t lane) {
    uint64_t source = warp.bits(a, lane), result = 0;
    for (uint32_t part = 0; part < 2; ++part) {
      double value = element_value(in.from_type, uint32_t(source >> part * from) & ((1u << from) - 1));
      const double scale = scale_factor(warp, in, lane, part);
      value = in.type == Type::S2F6x2 ? value / scale : value * scale;
      result |= element_to_bits(warp, in.type, value, in) << part * to;
    }
    warp.set_bits(d, lane, result);
  });
  warp.wrote(d);
  return Outcome::Next;
}

/// The defined bytes of a packed conversion: an element is defined if its source, and its scale factor, are.
uint16_t defined_elements(Warp &warp, const Instruction &in, const Operand &destination, uint32_t lane) {
  const uint32_t from = packed_bits(in.from_type), to = packed_bits(in.type);
  const uint32_t source = warp.defined_bytes(in.operands[1], lane);
  const uint32_t scales = in.settings[Scaled] ? warp.defined_bytes(in.operands.back(), lane) : 3;
  uint32_t undefined = 0;
  for (uint32_t part = 0; part < 2; ++part) {
    const uint32_t needed = ((1u << (from + 7) / 8) - 1) << part * from / 8;
    if ((source & needed) == needed && (scales >> part & 1))
      continue;
    undefined |= ((1u << (to + 7) / 8) - 1) << part * to / 8;
  }
  return uint16_t(((1u << destination.size) - 1) & ~undefined);
}

/// A value rounded towards zero, or away from it if the sum of the discarded bits and `random` carries. `random` is
/// a number of `random_bits` bits.
uint64_t stochastic_bits(Type type, double value, uint32_t random, uint32_t random_bits, const Instruction &in) {
  const SmallFloat &format = format_of(type);
  if (std::isnan(value) || std::isinf(value))
    return float_bits(type, value, in);
  if (in.settings[Relu] && !(value > 0))
    value = 0;
  const bool finite = in.settings[SatFinite];
  const uint32_t below = encode(format, value, Rounding::Zero, finite);
  const uint32_t sign = 1u << (format.exponent_bits + format.fraction_bits);
  const double magnitude = std::fabs(value), lower = std::fabs(decode(format, below));
  // The distance to the next number away from zero.
  const int exponent = std::max(lower == 0 ? 1 - format.bias : std::ilogb(lower), 1 - format.bias);
  const double unit = std::ldexp(1.0, exponent - format.fraction_bits);
  const bool carries = (magnitude - lower) / unit + std::ldexp(double(random), -int(random_bits)) >= 1;
  if (!carries)
    return below;
  const double next = std::copysign(lower + unit, value);
  const uint32_t result = encode(format, next, Rounding::NearestEven, finite);
  return value == 0 ? below : (result & (sign - 1)) | (below & sign);
}

/// d = {a, b} rounded with the random bits of the upper and lower half of operand 3.
Outcome pack_stochastic(Warp &warp, const Instruction &in) {
  const Operand &d = in.operands[0];
  require_sources(warp, in);
  const uint32_t random_bits = in.type == Type::F16x2 ? 13 : 16, mask = (1u << random_bits) - 1;
  for_each_lane(warp.mask, [&](uint32_t lane) {
    const uint64_t random = warp.bits(in.operands[3], lane);
    uint64_t result = 0;
    for (uint32_t part = 0; part < 2; ++part) {
      const float value = warp.lanes<float>(in.operands[2 - part])[lane];
      const auto bits = uint32_t(random >> 16 * part) & mask;
      result |= stochastic_bits(in.type, value, bits, random_bits, in) << 16 * part;
    }
    warp.set_bits(d, lane, result);
  });
  warp.wrote(d);
  return Outcome::Next;
}

/// d = four elements of the vector, the first in the upper bits.
Outcome pack_four(Warp &warp, const Instruction &in) {
  warp.unconfirmed("the random bits of cvt.rs for elements of 8 bits and fewer");
  const Operand &d = in.operands[0];
  require_sources(warp, in);
  const uint32_t width = packed_bits(in.type), random_bits = width == 4 ? 8 : 16;
  for_each_lane(warp.mask, [&](uint32_t lane) {
    const uint64_t random = warp.bits(in.operands[2], lane);
    uint64_t result = 0;
    for (uint32_t part = 0; part < 4; ++part) {
      const float value = warp.lanes<float>(in.operands[1].elements[part])[lane];
      // Elements 0 and 1 have the upper random bits; those of four bits have a byte of each half.
      const uint32_t first = width == 4 ? (part % 2 ? 0 : 16) + (part < 2 ? 8 : 0) : part < 2 ? 16 : 0;
      const auto bits = uint32_t(random >> first) & ((1u << random_bits) - 1);
      result = result << width | stochastic_bits(in.type, value, bits, random_bits, in);
    }
    warp.set_bits(d, lane, result);
  });
  warp.wrote(d);
  return Outcome::Next;
}

} // namespace

Execute decode_four(Decoder &d) {
  d.expect_operands(3, 3);
  d.destination_wide(0, d.instruction.type);
  d.vector(1, Type::F32, 4, true);
  d.source(2, Type::B32);
  return &pack_four;
}

Execute decode_packed(Decoder &d, bool stochastic) {
  Instruction &in = d.instruction;
  Type to = in.type;
  d.destination_wide(0, to);
  size_t next = 2;
  if (in.from_type == Type::F32) {
    d.source(1, Type::F32);
    d.source(next++, Type::F32);
  } else {
    d.source_wide(1, in.from_type);
  }
  if (stochastic)
    d.source(next++, Type::B32);
  if (in.settings[Scaled])
    d.source(next++, Type::B16);
  d.expect_operands(next, next);
  if (stochastic)
    return &pack_stochastic;
  if (in.from_type != Type::F32) {
    in.defined_bytes = &defined_elements;
    return &convert_packed;
  }
  if (packed_bits(to) >= 8 && !in.settings[Scaled])
    in.defined_bytes = &defined_bytes::halves;
  return &pack_floats;
}

} // namespace ptxsim
