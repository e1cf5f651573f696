// cvt and cvt.pack (PTX ISA 9.7.9.21). Compiled with -frounding-math.
#include "execution/defined_bytes.h"
#include "execution/lanewise.h"
#include "numbers/bit_cast.h"
#include "numbers/small_float.h"
#include "opcodes/conversion/conversion_forms.h"
#include "opcodes/conversion/conversion_values.h"
#include "opcodes/conversion/packed_conversion.h"
#include "opcodes/rounding_scope.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace ptxsim {

namespace {

double to_integral(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::Zero:
    return std::trunc(value);
  case Rounding::Down:
    return std::floor(value);
  case Rounding::Up:
    return std::ceil(value);
  default:
    return std::nearbyint(value);
  }
}

int64_t sign_extend(uint64_t bits, uint32_t size) {
  uint32_t unused = 64 - size * 8;
  return int64_t(bits << unused) >> unused;
}

/// PTX ISA 9.7.9.22: NaN becomes zero, but the upper bit alone if one of the types has 64 bits.
uint64_t integer_from_float(Type type, Type from, double value, Rounding rounding) {
  uint32_t width = type_size(type) * 8;
  if (std::isnan(value))
    return from == Type::F64 || width == 64 ? 1ull << (width - 1) : 0;
  double whole = to_integral(value, rounding);
  if (is_signed(type)) {
    double limit = std::ldexp(1.0, int(width) - 1);
    if (whole >= limit)
      return (1ull << (width - 1)) - 1;
    return whole < -limit ? uint64_t(-1) << (width - 1) : uint64_t(int64_t(whole));
  }
  if (whole >= std::ldexp(1.0, int(width)))
    return width == 64 ? ~0ull : (1ull << width) - 1;
  return whole < 0 ? 0 : uint64_t(whole);
}

uint64_t float_from_integer(Type type, uint64_t bits, bool sign, const Instruction &in) {
  RoundingScope scope{Rounding(in.settings[Rounded])};
  volatile int64_t with_sign = int64_t(bits);
  volatile uint64_t without = bits;
  if (type == Type::F32) {
    float value = sign ? float(with_sign) : float(without);
    return to_bits(in.settings[Sat] ? std::min(std::max(value, 0.0f), 1.0f) : value);
  }
  double value = sign ? double(with_sign) : double(without);
  return type == Type::F64 ? to_bits(value) : float_bits(type, value, in);
}

/// An integer clamped to the range of another type.
uint64_t saturate_integer(Type to, uint64_t bits, bool sign) {
  uint32_t width = type_size(to) * 8;
  __int128 value = sign ? __int128(int64_t(bits)) : __int128(bits);
  __int128 low = is_signed(to) ? -(__int128(1) << (width - 1)) : 0;
  __int128 high = (__int128(1) << (is_signed(to) ? width - 1 : width)) - 1;
  return uint64_t(value < low ? low : value > high ? high : value);
}

uint64_t convert(const Instruction &in, uint64_t bits) {
  Type to = in.type, from = in.from_type;
  if (is_float(from)) {
    double value = float_value(from, bits, in.settings[Ftz]);
    if (!is_float(to))
      return integer_from_float(to, from, value, Rounding(in.settings[Rounded]));
    return float_bits(to, in.settings[ToInteger] ? to_integral(value, Rounding(in.settings[Rounded])) : value, in);
  }
  uint64_t wide = is_signed(from) ? uint64_t(sign_extend(bits, type_size(from))) : bits;
  if (is_float(to))
    return float_from_integer(to, wide, is_signed(from), in);
  return in.settings[Sat] ? saturate_integer(to, wide, is_signed(from)) : wide;
}

/// Conversions between any two types. The registers may be wider than the types.
Outcome convert_lanes(Warp &warp, const Instruction &in) {
  const Operand &d = in.operands[0], &a = in.operands[1];
  warp.require(a);
  uint32_t from = type_size(in.from_type) * 8, to = type_size(in.type) * 8;
  for_each_lane(warp.mask, [&](uint32_t lane) {
    uint64_t bits = warp.bits(a, lane);
    if (from < 64)
      bits &= (1ull << from) - 1;
    uint64_t result = convert(in, bits);
    if (to < 64)
      result = is_signed(in.type) ? uint64_t(sign_extend(result, to / 8)) : result & ((1ull << to) - 1);
    warp.set_bits(d, lane, result);
  });
  warp.wrote(d);
  return Outcome::Next;
}

template <class D, class S> D Cast(const S *s) { return D(s[0]); }

/// Conversions of integers that equal a C++ conversion, in registers of the size of the type.
Execute simple_cast(Type to, Type from) {
  return select_integer(from, [&](auto source) -> Execute {
    using S = decltype(source);
    if (to == Type::F64 && sizeof(S) <= 4)
      return &lanewise<double, S, 1, Cast<double, S>>;
    if (to == Type::F32)
      return &lanewise<float, S, 1, Cast<float, S>>;
    return select_integer(to, [](auto destination) -> Execute {
      using D = decltype(destination);
      return &lanewise<D, S, 1, Cast<D, S>>;
    });
  });
}

float Widen16(const uint16_t *s) { return from_f16(s[0]); }
float WidenB16(const uint16_t *s) { return from_bf16(s[0]); }
uint16_t NarrowB16(const float *s) {
  uint32_t bits;
  std::memcpy(&bits, s, 4);
  if ((bits & 0x7FFFFFFF) > 0x7F800000)
    return 0x7FFF;
  return uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
uint16_t Narrow16(const float *s) { return to_f16(s[0]); }

Execute decode_cvt(Decoder &d) {
  Instruction &in = d.instruction;
  static constexpr std::pair<const char *, Rounding> to_float[] = {
      {"rn", Rounding::NearestEven}, {"rz", Rounding::Zero},         {"rm", Rounding::Down},
      {"rp", Rounding::Up},          {"rna", Rounding::NearestAway}, {"rs", Rounding::Zero}};
  static constexpr std::pair<const char *, Rounding> to_integer[] = {
      {"rni", Rounding::NearestEven}, {"rzi", Rounding::Zero}, {"rmi", Rounding::Down}, {"rpi", Rounding::Up}};
  bool rounded = false;
  ConversionForm form;
  const auto take_rounding = [&](const char *name, Rounding rounding) {
    if (!d.take(name))
      return false;
    if (!form.rounding.empty())
      d.malformed("'" + in.text + "' has two rounding modes");
    form.rounding = name;
    in.settings[Rounded] = int32_t(rounding);
    return true;
  };
  for (const auto &[name, rounding] : to_float)
    rounded |= take_rounding(name, rounding);
  for (const auto &[name, rounding] : to_integer)
    if (take_rounding(name, rounding))
      in.settings[ToInteger] = true;
  in.settings[Ftz] = d.take("ftz");
  in.settings[Sat] = d.take("sat");
  in.settings[Relu] = d.take("relu");
  in.settings[SatFinite] = d.take("satfinite");
  in.settings[Scaled] = d.take("scaled::n2::ue8m0");
  in.type = d.take_type();
  in.from_type = d.take_type();
  form.to = in.type;
  form.from = in.from_type;
  form.ftz = in.settings[Ftz];
  form.sat = in.settings[Sat];
  form.relu = in.settings[Relu];
  form.satfinite = in.settings[SatFinite];
  form.scaled = in.settings[Scaled];
  const std::optional<ConversionRequirement> requirement = find_conversion(form);
  if (d.empty() && !requirement)
    d.malformed("'" + in.text + "' is not a form of cvt");
  if (requirement) {
    d.expect_target(requirement->targets, in.text);
    d.expect_version(requirement->version);
  }
  if (is_one_of(in.type, {Type::E4M3x4, Type::E5M2x4, Type::E2M3x4, Type::E3M2x4, Type::E2M1x4}))
    return decode_four(d);
  if (packed_bits(in.type) && (packed_bits(in.from_type) || in.from_type == Type::F32))
    return decode_packed(d, form.rounding == "rs");
  d.expect_operands(2, 2);
  d.destination_wide(0, in.type);
  d.source_wide(1, in.from_type);
  if (!is_float(in.from_type) && !is_float(in.type) && !in.settings[Sat])
    in.defined_bytes = &defined_bytes::resized;
  bool exact_sizes = in.operands[0].size == type_size(in.type) && in.operands[1].size == type_size(in.from_type);
  bool plain = !in.settings[Rounded] && !in.settings[Ftz] && !in.settings[Sat] && !in.settings[Relu] &&
               !in.settings[SatFinite] && exact_sizes;
  if (plain && !in.settings[ToInteger] && !is_float(in.from_type))
    if (Execute execute = simple_cast(in.type, in.from_type))
      return execute;
  if (plain && in.from_type == Type::F16 && in.type == Type::F32)
    return &lanewise<float, uint16_t, 1, Widen16>;
  if (plain && in.from_type == Type::BF16 && in.type == Type::F32)
    return &lanewise<float, uint16_t, 1, WidenB16>;
  if (plain && rounded && in.from_type == Type::F32 && in.type == Type::BF16)
    return &lanewise<uint16_t, float, 1, NarrowB16>;
  if (plain && rounded && in.from_type == Type::F32 && in.type == Type::F16)
    return &lanewise<uint16_t, float, 1, Narrow16>;
  return &convert_lanes;
}

enum PackSetting { PackedBits };

/// d = {c if present, a, b}, a and b saturated to the type.
Outcome pack_integers(Warp &warp, const Instruction &in) {
  for (size_t i = 1; i < in.operands.size(); ++i)
    warp.require(in.operands[i]);
  uint32_t width = uint32_t(in.settings[PackedBits]);
  uint32_t keep = width == 32 ? ~0u : (1u << width) - 1;
  int32_t *a = warp.lanes<int32_t>(in.operands[1]), *b = warp.lanes<int32_t>(in.operands[2]);
  uint32_t *d = warp.lanes<uint32_t>(in.operands[0]);
  uint32_t *c = in.operands.size() > 3 ? warp.lanes<uint32_t>(in.operands[3]) : nullptr;
  bool sign = is_signed(in.type);
  auto clamp = [&](int64_t value) {
    int64_t high = sign ? (1ll << (width - 1)) - 1 : (1ll << width) - 1;
    return uint32_t(std::clamp<int64_t>(value, sign ? -high - 1 : 0, high)) & keep;
  };
  for_each_lane(warp.mask, [&](uint32_t lane) {
    uint64_t upper = c ? uint64_t(c[lane]) << 2 * width : 0;
    d[lane] = uint32_t(upper | clamp(a[lane]) << width | clamp(b[lane]));
  });
  warp.wrote(in.operands[0]);
  return Outcome::Next;
}

Execute decode_pack(Decoder &d) {
  if (!d.take("sat"))
    d.malformed("'" + d.instruction.text + "' needs .sat");
  // .u4, .s4, .u2 and .s2 name no type of the simulator but these.
  const int two_bits = d.take_one_of({"u2", "s2"});
  Type type = d.instruction.type = two_bits < 0 ? d.take_type() : two_bits ? Type::S8 : Type::U8;
  if (d.take_type() != Type::S32)
    d.malformed("'" + d.instruction.text + "' packs values of type .s32");
  const bool appends = d.take_type_if_any() == Type::B32;
  switch (type) {
  case Type::U16:
  case Type::S16:
    d.instruction.settings[PackedBits] = 16;
    break;
  case Type::U8:
  case Type::S8:
    d.instruction.settings[PackedBits] = two_bits < 0 ? 8 : 2;
    break;
  case Type::U4:
  case Type::S4:
    d.instruction.settings[PackedBits] = 4;
    break;
  default:
    d.malformed("'" + d.instruction.text + "' packs into elements of 2, 4, 8 or 16 bits");
  }
  if (appends != (d.instruction.settings[PackedBits] != 16))
    d.malformed("'" + d.instruction.text + "' " + (appends ? "has no third source" : "needs a third source of .b32"));
  d.expect_operands(appends ? 4 : 3, appends ? 4 : 3);
  d.destination(0, Type::B32);
  for (size_t i = 1; i < d.count(); ++i)
    d.source(i, Type::B32);
  return &pack_integers;
}

} // namespace

const OpcodeTable &convert_opcodes() {
  static const OpcodeTable table = {
      {"cvt", OpcodeGroup::Convert, decode_cvt},
      {"cvt.pack", OpcodeGroup::Convert, decode_pack},
  };
  return table;
}

} // namespace ptxsim
