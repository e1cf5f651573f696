// Floating point arithmetic (PTX ISA 9.7.3 to 9.7.5). Compiled with -frounding-math: directed roundings set the
// rounding mode of the processor around the loop over the lanes.
#include "opcodes/float.h"

#include "execution/lanewise.h"
#include "numbers/bit_cast.h"
#include "numbers/oob_nan.h"
#include "numbers/small_float.h"
#include "opcodes/rounding_scope.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace ptxsim {

namespace {

template <class T> T canonical_nan() {
  if constexpr (std::is_same_v<T, float>) {
    return from_bits<float>(0x7FFFFFFF);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::numeric_limits<double>::quiet_NaN();
  } else {
    return {0x7FFF};
  }
}

template <class T> T flush(T value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(T(0), value) : value;
}
template <class T> T saturate(T value) { return std::isnan(value) ? T(0) : std::min(std::max(value, T(0)), T(1)); }

// Functions of float and double.
template <class T> T Add(const T *s) { return s[0] + s[1]; }
template <class T> T Sub(const T *s) { return s[0] - s[1]; }
template <class T> T Mul(const T *s) { return s[0] * s[1]; }
template <class T> T Div(const T *s) { return s[0] / s[1]; }
template <class T> T Fma(const T *s) { return std::fma(s[0], s[1], s[2]); }
template <class T> T Sqrt(const T *s) { return std::sqrt(s[0]); }
template <class T> T Rcp(const T *s) { return T(1) / s[0]; }
template <class T> T Abs(const T *s) { return std::fabs(s[0]); }
template <class T> T Neg(const T *s) { return -s[0]; }

// -0 is less than +0; of a number and a NaN the result is the number.
template <class T> T Min(const T *s) {
  if (std::isnan(s[0]) || std::isnan(s[1]))
    return std::isnan(s[0]) ? s[1] : s[0];
  return s[0] < s[1] || (s[0] == s[1] && std::signbit(s[0])) ? s[0] : s[1];
}
template <class T> T Max(const T *s) {
  if (std::isnan(s[0]) || std::isnan(s[1]))
    return std::isnan(s[0]) ? s[1] : s[0];
  return s[0] > s[1] || (s[0] == s[1] && !std::signbit(s[0])) ? s[0] : s[1];
}

// Approximations: computed in double and rounded once, so at least as accurate as PTX requires.
float Ex2(const float *s) { return float(std::exp2(double(s[0]))); }
float Lg2(const float *s) { return float(std::log2(double(s[0]))); }
float Rsqrt(const float *s) { return float(1.0 / std::sqrt(double(s[0]))); }
float Sin(const float *s) { return float(std::sin(double(s[0]))); }
float Cos(const float *s) { return float(std::cos(double(s[0]))); }
float Tanh(const float *s) { return float(std::tanh(double(s[0]))); }
double RsqrtDouble(const double *s) { return 1.0 / std::sqrt(s[0]); }

// The fma of the 16-bit formats: an inexact sum is rounded to odd in double, so that rounding it to the format is
// equivalent to one rounding.
double fma_to_odd(double a, double b, double c) {
  double product = a * b, sum = product + c;
  double high = sum - product, error = (product - (sum - high)) + (c - high);
  if (error == 0 || !std::isfinite(sum))
    return sum;
  uint64_t bits;
  std::memcpy(&bits, &sum, 8);
  if ((bits & 1) == 0)
    bits += (error > 0) == (sum > 0) ? 1 : uint64_t(-1);
  std::memcpy(&sum, &bits, 8);
  return sum;
}

/// settings: the modifiers rounding, ftz, sat, relu, NaN, xorsign, abs, oob.
enum Setting { RoundingMode, Ftz, Sat, Relu, PropagateNan, XorSign, Absolute, Oob };

/// function(values) with the modifiers .abs, .NaN, .xorsign, .sat and .relu.
template <size_t Sources, class T, class Function>
T apply_modifiers(const Instruction &in, T (&values)[Sources], Function function) {
  bool nan = false, negative = false;
  for (T &value : values) {
    nan |= std::isnan(value);
    negative ^= std::signbit(value);
    if (in.settings[Absolute])
      value = std::fabs(value);
  }
  T result = function(values);
  if (in.settings[PropagateNan] && nan)
    result = std::numeric_limits<T>::quiet_NaN();
  if (in.settings[XorSign])
    result = std::copysign(result, negative ? T(-1) : T(1));
  if (in.settings[Sat])
    result = saturate(result);
  if (in.settings[Relu] && !(result > 0) && !std::isnan(result))
    result = 0;
  return result;
}

/// f32 and f64 with any modifiers.
template <class T, size_t Sources, auto Function> Outcome general(Warp &warp, const Instruction &in) {
  const auto source = required_sources<T, Sources>(warp, in);
  T *destination = warp.lanes<T>(in.operands[0]);
  RoundingScope scope(Rounding(in.settings[RoundingMode]));
  for_each_lane(warp.mask, [&](uint32_t lane) {
    T values[Sources];
    for (size_t i = 0; i < Sources; ++i)
      values[i] = in.settings[Ftz] ? flush(source[i][lane]) : source[i][lane];
    const T result = apply_modifiers(in, values, [&](const T *s) {
      const T value = Function(s);
      return in.settings[Ftz] ? flush(value) : value;
    });
    destination[lane] = std::isnan(result) ? canonical_nan<T>() : result;
  });
  warp.wrote(in.operands[0]);
  return Outcome::Next;
}

/// The function without modifiers; NaN results are canonical.
template <class T, size_t Sources, auto Function> T Plain(const T *s) {
  T result = Function(s);
  return __builtin_expect(result != result, 0) ? canonical_nan<T>() : result;
}

/// 16-bit formats, `Count` elements per register. The function computes in Wide: float, or double for fma.
template <class T, size_t Count, size_t Sources, class Wide, auto Function>
Outcome small_float(Warp &warp, const Instruction &in) {
  if (in.settings[Oob])
    warp.unconfirmed("the bit pattern of the OOB-NaN that fma.oob replaces by zero");
  const auto source = required_sources<uint8_t, Sources>(warp, in);
  uint8_t *destination = warp.lanes<uint8_t>(in.operands[0]);
  for_each_lane(warp.mask, [&](uint32_t lane) {
    for (size_t part = 0; part < Count; ++part) {
      size_t at = (lane * Count + part) * 2;
      Wide values[Sources];
      bool outside = false;
      for (size_t i = 0; i < Sources; ++i) {
        T stored;
        std::memcpy(&stored, source[i] + at, 2);
        values[i] = Wide(widen(stored));
        outside |= in.settings[Oob] && i < 2 && stored.bits == oob_nan;
        if (in.settings[Ftz] && std::is_same_v<T, F16> && std::fabs(values[i]) < Wide(0x1p-14))
          values[i] = std::copysign(Wide(0), values[i]);
      }
      const Wide value = outside ? Wide(0) : apply_modifiers(in, values, Function);
      T result = std::isnan(value) ? canonical_nan<T>() : narrow<T>(double(value));
      if (in.settings[Ftz] && std::is_same_v<T, F16> && (result.bits & 0x7C00) == 0)
        result.bits &= 0x8000;
      std::memcpy(destination + at, &result, 2);
    }
  });
  warp.wrote(in.operands[0]);
  return Outcome::Next;
}

double FmaSmall(const double *s) { return fma_to_odd(s[0], s[1], s[2]); }

/// f32x2: two elements per register.
template <size_t Sources, auto Function> Outcome float_pair(Warp &warp, const Instruction &in) {
  const auto source = required_sources<float, Sources>(warp, in);
  float *destination = warp.lanes<float>(in.operands[0]);
  RoundingScope scope(Rounding(in.settings[RoundingMode]));
  for_each_lane(warp.mask, [&](uint32_t lane) {
    for (size_t part = 2 * lane; part < 2 * lane + 2; ++part) {
      float values[Sources];
      for (size_t i = 0; i < Sources; ++i)
        values[i] = in.settings[Ftz] ? flush(source[i][part]) : source[i][part];
      float result = Function(values);
      if (in.settings[Ftz])
        result = flush(result);
      destination[part] = std::isnan(result) ? canonical_nan<float>() : result;
    }
  });
  warp.wrote(in.operands[0]);
  return Outcome::Next;
}

/// The last source and the result are f32, the other sources 16-bit floats, which are exact in f32.
template <class T, size_t Sources, auto Function> Outcome mixed(Warp &warp, const Instruction &in) {
  for (size_t i = 1; i <= Sources; ++i)
    warp.require(in.operands[i]);
  const float *addend = warp.lanes<float>(in.operands[Sources]);
  float *destination = warp.lanes<float>(in.operands[0]);
  RoundingScope scope(Rounding(in.settings[RoundingMode]));
  for_each_lane(warp.mask, [&](uint32_t lane) {
    float values[Sources];
    for (size_t i = 0; i + 1 < Sources; ++i)
      values[i] = widen(T{warp.lanes<uint16_t>(in.operands[i + 1])[lane]});
    values[Sources - 1] = addend[lane];
    float result = Function(values);
    if (in.settings[Sat])
      result = saturate(result);
    destination[lane] = std::isnan(result) ? canonical_nan<float>() : result;
  });
  warp.wrote(in.operands[0]);
  return Outcome::Next;
}

void take_float_modifiers(Decoder &d) {
  auto &settings = d.instruction.settings;
  int rounding = d.take_one_of({"rn", "rz", "rm", "rp"});
  settings[RoundingMode] = rounding < 0 ? 0 : rounding;
  settings[Ftz] = d.take("ftz");
  settings[Sat] = d.take("sat");
  settings[Relu] = d.take("relu");
}

bool is_plain(const Instruction &in) {
  for (int32_t setting : in.settings)
    if (setting)
      return false;
  return true;
}

void require_nearest(Decoder &d) {
  if (d.instruction.settings[RoundingMode])
    d.unsupported("directed rounding of a 16-bit format");
}

template <size_t Sources, auto Function> Execute mixed_float(Decoder &d, Type narrow) {
  if (d.instruction.type != Type::F32 || (narrow != Type::F16 && narrow != Type::BF16))
    d.unsupported("unknown combination of types");
  d.expect_operands(Sources + 1, Sources + 1);
  d.destination(0, Type::F32);
  for (size_t i = 1; i < Sources; ++i)
    d.source(i, narrow);
  d.source(Sources, Type::F32);
  return narrow == Type::F16 ? &mixed<F16, Sources, Function> : &mixed<BF16, Sources, Function>;
}

/// Operations that exist in every format. `ForSmall` is the function for the 16-bit formats; it computes in SmallWide.
/// `Mixed` operations also have forms with 16-bit sources and an f32 result.
template <size_t Sources, auto ForFloat, auto ForDouble, class SmallWide, auto ForSmall, bool Mixed>
Execute any_float(Decoder &d) {
  Type type = d.instruction.type;
  take_float_modifiers(d);
  if (std::optional<Type> narrow = d.take_type_if_any()) {
    if constexpr (Mixed)
      return mixed_float<Sources, ForFloat>(d, *narrow);
    else
      d.unsupported("unknown combination of types");
  }
  same_type_operands(d, type, Sources);
  bool plain = is_plain(d.instruction);
  switch (type) {
  case Type::F32:
    return plain ? &lanewise<float, float, Sources, Plain<float, Sources, ForFloat>>
                 : &general<float, Sources, ForFloat>;
  case Type::F64:
    return plain ? &lanewise<double, double, Sources, Plain<double, Sources, ForDouble>>
                 : &general<double, Sources, ForDouble>;
  case Type::F32x2:
    return &float_pair<Sources, ForFloat>;
  case Type::F16:
    require_nearest(d);
    return &small_float<F16, 1, Sources, SmallWide, ForSmall>;
  case Type::BF16:
    require_nearest(d);
    return &small_float<BF16, 1, Sources, SmallWide, ForSmall>;
  case Type::F16x2:
    require_nearest(d);
    return &small_float<F16, 2, Sources, SmallWide, ForSmall>;
  case Type::BF16x2:
    require_nearest(d);
    return &small_float<BF16, 2, Sources, SmallWide, ForSmall>;
  default:
    return nullptr;
  }
}

template <size_t Sources, auto ForFloat, auto ForDouble, bool Mixed> Execute float_or_small(Decoder &d) {
  return any_float<Sources, ForFloat, ForDouble, float, ForFloat, Mixed>(d);
}

/// Approximations of one operand: f32, and 16-bit formats computed in float.
template <auto Function> Execute approximate(Decoder &d) {
  d.take("approx");
  Type type = d.instruction.type = d.take_type();
  d.instruction.settings[Ftz] = d.take("ftz");
  same_type_operands(d, type, 1);
  switch (type) {
  case Type::F32:
    return &general<float, 1, Function>;
  case Type::F16:
    return &small_float<F16, 1, 1, float, Function>;
  case Type::F16x2:
    return &small_float<F16, 2, 1, float, Function>;
  case Type::BF16:
    return &small_float<BF16, 1, 1, float, Function>;
  case Type::BF16x2:
    return &small_float<BF16, 2, 1, float, Function>;
  default:
    return nullptr;
  }
}

/// sqrt, rcp and rsqrt: f32 and f64 with a rounding mode; .approx is computed as .rn.
template <auto ForFloat, auto ForDouble> Execute decode_root(Decoder &d) {
  d.take("approx");
  take_float_modifiers(d);
  Type type = d.instruction.type = d.take_type();
  same_type_operands(d, type, 1);
  return type == Type::F64 ? &general<double, 1, ForDouble> : &general<float, 1, ForFloat>;
}

/// abs and neg as bit operations, which also apply to the sign of a NaN.
template <class T, T Clear, T Flip> T Sign(const T *s) { return T((s[0] & ~Clear) ^ Flip); }

template <bool Negate> Execute decode_sign(Decoder &d) {
  Type type = d.instruction.type;
  bool ftz = d.take("ftz");
  same_type_operands(d, type, 1);
  if (ftz && type == Type::F32) {
    d.instruction.settings[Ftz] = true;
    return Negate ? &general<float, 1, Neg<float>> : &general<float, 1, Abs<float>>;
  }
  constexpr uint64_t one = 1;
  switch (type) {
  case Type::F32:
    return &lanewise<uint32_t, uint32_t, 1, Sign<uint32_t, Negate ? 0u : one << 31, Negate ? one << 31 : 0u>>;
  case Type::F64:
    return &lanewise<uint64_t, uint64_t, 1, Sign<uint64_t, Negate ? 0u : one << 63, Negate ? one << 63 : 0u>>;
  case Type::F16:
  case Type::BF16:
    return &lanewise<uint16_t, uint16_t, 1, Sign<uint16_t, Negate ? 0 : 0x8000, Negate ? 0x8000 : 0>>;
  case Type::F16x2:
  case Type::BF16x2:
    return &lanewise<uint32_t, uint32_t, 1, Sign<uint32_t, Negate ? 0 : 0x80008000u, Negate ? 0x80008000u : 0>>;
  default:
    return nullptr;
  }
}

template <size_t Sources, auto ForFloat, auto ForDouble> Execute decode_min_max(Decoder &d) {
  auto &settings = d.instruction.settings;
  settings[PropagateNan] = d.take("NaN");
  settings[XorSign] = d.take("xorsign");
  settings[Absolute] = d.take("abs");
  return float_or_small<Sources, ForFloat, ForDouble, false>(d);
}

template <class T> T Min3(const T *s) {
  T first[2] = {s[0], s[1]};
  T rest[2] = {Min(first), s[2]};
  return Min(rest);
}
template <class T> T Max3(const T *s) {
  T first[2] = {s[0], s[1]};
  T rest[2] = {Max(first), s[2]};
  return Max(rest);
}

} // namespace

Execute decode_float_add(Decoder &d) { return float_or_small<2, Add<float>, Add<double>, true>(d); }
Execute decode_float_sub(Decoder &d) { return float_or_small<2, Sub<float>, Sub<double>, true>(d); }
Execute decode_float_mul(Decoder &d) { return float_or_small<2, Mul<float>, Mul<double>, false>(d); }
Execute decode_float_fma(Decoder &d) {
  const Type type = d.instruction.type;
  d.instruction.settings[Oob] = d.take("oob");
  if (d.instruction.settings[Oob] && (!is_half(type) || d.has("ftz")))
    d.malformed("expected .f16, .bf16, .f16x2 or .bf16x2, and no .ftz, with .oob");
  return any_float<3, Fma<float>, Fma<double>, double, FmaSmall, true>(d);
}
Execute decode_float_mad(Decoder &d) { return any_float<3, Fma<float>, Fma<double>, double, FmaSmall, false>(d); }

Execute decode_float_div(Decoder &d) {
  d.take_one_of({"approx", "full"}); // .approx and .full are computed as .rn
  take_float_modifiers(d);
  same_type_operands(d, d.instruction.type, 2);
  return d.instruction.type == Type::F64 ? &general<double, 2, Div<double>> : &general<float, 2, Div<float>>;
}

Execute decode_float_min(Decoder &d) {
  return d.count() == 4 ? decode_min_max<3, Min3<float>, Min3<double>>(d)
                        : decode_min_max<2, Min<float>, Min<double>>(d);
}
Execute decode_float_max(Decoder &d) {
  return d.count() == 4 ? decode_min_max<3, Max3<float>, Max3<double>>(d)
                        : decode_min_max<2, Max<float>, Max<double>>(d);
}
Execute decode_float_abs(Decoder &d) { return decode_sign<false>(d); }
Execute decode_float_neg(Decoder &d) { return decode_sign<true>(d); }

const OpcodeTable &float_opcodes() {
  static const OpcodeTable table = {
      {"fma", OpcodeGroup::Float,
       [](Decoder &d) {
         d.instruction.type = d.take_type();
         return decode_float_fma(d);
       }},
      {"sqrt", OpcodeGroup::Float, decode_root<Sqrt<float>, Sqrt<double>>},
      {"rcp", OpcodeGroup::Float, decode_root<Rcp<float>, Rcp<double>>},
      {"rsqrt", OpcodeGroup::Float, decode_root<Rsqrt, RsqrtDouble>},
      {"ex2", OpcodeGroup::Float, approximate<Ex2>},
      {"lg2", OpcodeGroup::Float, approximate<Lg2>},
      {"sin", OpcodeGroup::Float, approximate<Sin>},
      {"cos", OpcodeGroup::Float, approximate<Cos>},
      {"tanh", OpcodeGroup::Float, approximate<Tanh>},
  };
  return table;
}

} // namespace ptxsim
