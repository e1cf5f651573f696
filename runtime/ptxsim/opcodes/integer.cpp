// Integer arithmetic (PTX ISA 9.7.1) and the decoders of mnemonics shared with floating point.
#include "execution/lanewise.h"
#include "opcodes/float.h"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace ptxsim {

namespace {

// Sums and products wrap, so they are computed unsigned. A 16-bit product that is promoted to int would overflow.
template <class T> using Wide = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T> T Add(const T *s) { return T(Wide<T>(s[0]) + Wide<T>(s[1])); }
template <class T> T Sub(const T *s) { return T(Wide<T>(s[0]) - Wide<T>(s[1])); }
template <class T> T MulLow(const T *s) { return T(Wide<T>(s[0]) * Wide<T>(s[1])); }
template <class T> T MadLow(const T *s) { return T(Wide<T>(s[0]) * Wide<T>(s[1]) + Wide<T>(s[2])); }
template <class T> T Min(const T *s) { return std::min(s[0], s[1]); }
template <class T> T Max(const T *s) { return std::max(s[0], s[1]); }
template <class T> T Neg(const T *s) { return T(0 - Wide<T>(s[0])); }
template <class T> T Abs(const T *s) { return s[0] < 0 ? Neg(s) : s[0]; }
template <class T> T Sad(const T *s) {
  return T(Wide<T>(s[2]) + (s[0] < s[1] ? Wide<T>(s[1]) - Wide<T>(s[0]) : Wide<T>(s[0]) - Wide<T>(s[1])));
}

template <class T> T MulHigh(const T *s) {
  using Double = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  return T((Double(s[0]) * Double(s[1])) >> sizeof(T) * 8);
}
template <class T> T MadHigh(const T *s) { return T(Wide<T>(MulHigh(s)) + Wide<T>(s[2])); }

// Division by zero yields all ones, and the remainder the dividend, as on GPUs; PTX does not define them.
template <class T> T Div(const T *s) {
  if (s[1] == 0)
    return T(~T(0));
  if (std::is_signed_v<T> && s[1] == T(-1))
    return T(0 - Wide<T>(s[0]));
  return T(s[0] / s[1]);
}
template <class T> T Rem(const T *s) {
  if (s[1] == 0)
    return s[0];
  if (std::is_signed_v<T> && s[1] == T(-1))
    return 0;
  return T(s[0] % s[1]);
}

int32_t AddSaturated(const int32_t *s) {
  return int32_t(std::clamp<int64_t>(int64_t(s[0]) + s[1], INT32_MIN, INT32_MAX));
}
int32_t SubSaturated(const int32_t *s) {
  return int32_t(std::clamp<int64_t>(int64_t(s[0]) - s[1], INT32_MIN, INT32_MAX));
}
int32_t MadHighSaturated(const int32_t *s) {
  return int32_t(std::clamp<int64_t>((int64_t(s[0]) * s[1] >> 32) + s[2], INT32_MIN, INT32_MAX));
}

/// The low 24 bits of `value`, extended to 32.
template <class T> int64_t Low24(T value) {
  return std::is_signed_v<T> ? T(int32_t(uint32_t(value) << 8) >> 8) : T(value & 0xFFFFFF);
}
template <class T> T Mul24(const T *s) { return T(uint64_t(Low24(s[0]) * Low24(s[1]))); }
template <class T> T Mul24High(const T *s) { return T((Low24(s[0]) * Low24(s[1])) >> 16); }
template <class T> T Mad24(const T *s) { return T(uint32_t(Mul24(s)) + uint32_t(s[2])); }
template <class T> T Mad24High(const T *s) { return T(uint32_t(Mul24High(s)) + uint32_t(s[2])); }

#define SELECT(Sources, Function)                                                                                      \
  [](auto zero) -> Execute {                                                                                           \
    using T = decltype(zero);                                                                                          \
    return &lanewise<T, T, Sources, Function<T>>;                                                                      \
  }

template <class Select> Execute integer_form(Decoder &d, size_t sources, Select select) {
  same_type_operands(d, d.instruction.type, sources);
  return select_integer(d.instruction.type, select);
}

/// Takes the type of a mnemonic that integers and floats share; true if it is a float type.
bool float_form(Decoder &d) {
  d.instruction.type = d.take_type();
  return is_float(d.instruction.type);
}

#define OPCODE(name, sources, Function)                                                                                \
  {name, OpcodeGroup::Integer, [](Decoder &d) {                                                                        \
     d.instruction.type = d.take_type();                                                                               \
     return integer_form(d, sources, SELECT(sources, Function));                                                       \
   }}

#define SHARED_OPCODE(name, sources, Function, decode_float)                                                           \
  {name, OpcodeGroup::Arithmetic,                                                                                      \
   [](Decoder &d) { return float_form(d) ? decode_float(d) : integer_form(d, sources, SELECT(sources, Function)); }}

// Packed 16-bit integers.
template <class T, T (*Function)(const T *)> uint32_t Packed(const uint32_t *s) {
  uint32_t result = 0;
  for (int half = 0; half < 2; ++half) {
    T values[2] = {T(s[0] >> 16 * half), T(s[1] >> 16 * half)};
    result |= uint32_t(uint16_t(Function(values))) << 16 * half;
  }
  return result;
}

#define PACKED(Function)                                                                                               \
  d.instruction.type == Type::U16x2   ? &lanewise<uint32_t, uint32_t, 2, Packed<uint16_t, Function<uint16_t>>>         \
  : d.instruction.type == Type::S16x2 ? &lanewise<uint32_t, uint32_t, 2, Packed<int16_t, Function<int16_t>>>           \
                                      : select_integer(d.instruction.type, SELECT(2, Function))

enum CarrySetting { CarryIn, CarryOut };

// Extended precision: the carry of each lane is one bit of the warp's CC register.
template <class T, bool Subtract> Outcome carry_add(Warp &warp, const Instruction &in) {
  bool carry_in = in.settings[CarryIn], carry_out = in.settings[CarryOut];
  warp.require(in.operands[1]);
  warp.require(in.operands[2]);
  T *d = warp.lanes<T>(in.operands[0]), *a = warp.lanes<T>(in.operands[1]), *b = warp.lanes<T>(in.operands[2]);
  for_each_lane(warp.mask, [&](uint32_t lane) {
    uint32_t bit = 1u << lane;
    unsigned __int128 borrow_or_carry = carry_in && (warp.carry & bit) ? 1 : 0;
    // The flag of a subtraction is its borrow.
    unsigned __int128 sum = Subtract ? (unsigned __int128)(a[lane]) - b[lane] - borrow_or_carry
                                     : (unsigned __int128)(a[lane]) + b[lane] + borrow_or_carry;
    d[lane] = T(sum);
    if (carry_out)
      warp.carry = (sum >> sizeof(T) * 8) & 1 ? warp.carry | bit : warp.carry & ~bit;
  });
  warp.wrote(in.operands[0]);
  return Outcome::Next;
}

template <bool Subtract> Execute decode_carry(Decoder &d, bool carry_in) {
  d.instruction.settings[CarryIn] = carry_in;
  d.instruction.settings[CarryOut] = d.take("cc");
  same_type_operands(d, d.instruction.type, 2);
  return type_size(d.instruction.type) == 8 ? &carry_add<uint64_t, Subtract> : &carry_add<uint32_t, Subtract>;
}

template <class T, bool High> Outcome carry_mad(Warp &warp, const Instruction &in) {
  using Double = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  using Unsigned = std::make_unsigned_t<T>;
  bool carry_in = in.settings[CarryIn], carry_out = in.settings[CarryOut];
  for (size_t i = 1; i < 4; ++i)
    warp.require(in.operands[i]);
  T *d = warp.lanes<T>(in.operands[0]), *a = warp.lanes<T>(in.operands[1]), *b = warp.lanes<T>(in.operands[2]),
    *c = warp.lanes<T>(in.operands[3]);
  for_each_lane(warp.mask, [&](uint32_t lane) {
    uint32_t bit = 1u << lane;
    Double product = Double(a[lane]) * Double(b[lane]);
    Unsigned part = Unsigned(High ? product >> sizeof(T) * 8 : product);
    unsigned __int128 sum = (unsigned __int128)(part) + Unsigned(c[lane]) + (carry_in && (warp.carry & bit) ? 1 : 0);
    d[lane] = T(Unsigned(sum));
    if (carry_out)
      warp.carry = (sum >> sizeof(T) * 8) & 1 ? warp.carry | bit : warp.carry & ~bit;
  });
  warp.wrote(in.operands[0]);
  return Outcome::Next;
}

Execute decode_carry_mad(Decoder &d, bool carry_in) {
  bool high = d.take("hi");
  if (!high)
    d.take("lo");
  d.instruction.settings[CarryIn] = carry_in;
  d.instruction.settings[CarryOut] = d.take("cc");
  same_type_operands(d, d.instruction.type, 3);
  return select_integer(d.instruction.type, [&](auto zero) -> Execute {
    using T = decltype(zero);
    if constexpr (sizeof(T) >= 4)
      return high ? &carry_mad<T, true> : &carry_mad<T, false>;
    else
      return nullptr;
  });
}

template <bool Subtract> Execute decode_sum(Decoder &d) {
  if (float_form(d))
    return Subtract ? decode_float_sub(d) : decode_float_add(d);
  if (d.has("cc"))
    return decode_carry<Subtract>(d, false);
  if (d.take("sat")) {
    same_type_operands(d, Type::S32, 2);
    return &lanewise < int32_t, int32_t, 2, Subtract ? SubSaturated : AddSaturated > ;
  }
  same_type_operands(d, d.instruction.type, 2);
  if constexpr (Subtract)
    return PACKED(Sub);
  else
    return PACKED(Add);
}

template <bool Least> Execute decode_min_max(Decoder &d) {
  if (float_form(d))
    return Least ? decode_float_min(d) : decode_float_max(d);
  if (d.has("relu"))
    d.unsupported("relu on integers");
  same_type_operands(d, d.instruction.type, 2);
  if constexpr (Least)
    return PACKED(Min);
  else
    return PACKED(Max);
}

/// The product has double_width the size of its factors.
template <class D, class S> D MulWide(const S *s) { return D(D(s[0]) * D(s[1])); }

template <class D, class S> Outcome mad_wide(Warp &warp, const Instruction &in) {
  for (size_t i = 1; i < 4; ++i)
    warp.require(in.operands[i]);
  D *d = warp.lanes<D>(in.operands[0]), *c = warp.lanes<D>(in.operands[3]);
  S *a = warp.lanes<S>(in.operands[1]), *b = warp.lanes<S>(in.operands[2]);
  using Unsigned = std::make_unsigned_t<D>;
  for_each_lane(warp.mask, [&](uint32_t lane) { d[lane] = D(Unsigned(D(a[lane]) * D(b[lane])) + Unsigned(c[lane])); });
  warp.wrote(in.operands[0]);
  return Outcome::Next;
}

Type double_width(Type type) {
  switch (type) {
  case Type::U16:
    return Type::U32;
  case Type::S16:
    return Type::S32;
  case Type::U32:
    return Type::U64;
  default:
    return Type::S64;
  }
}

Execute decode_wide(Decoder &d, bool add) {
  Type type = d.instruction.type;
  d.expect_operands(add ? 4 : 3, add ? 4 : 3);
  d.destination(0, double_width(type));
  d.source(1, type);
  d.source(2, type);
  if (add)
    d.source(3, double_width(type));
  switch (type) {
  case Type::U16:
    return add ? &mad_wide<uint32_t, uint16_t> : &lanewise<uint32_t, uint16_t, 2, MulWide<uint32_t, uint16_t>>;
  case Type::S16:
    return add ? &mad_wide<int32_t, int16_t> : &lanewise<int32_t, int16_t, 2, MulWide<int32_t, int16_t>>;
  case Type::U32:
    return add ? &mad_wide<uint64_t, uint32_t> : &lanewise<uint64_t, uint32_t, 2, MulWide<uint64_t, uint32_t>>;
  case Type::S32:
    return add ? &mad_wide<int64_t, int32_t> : &lanewise<int64_t, int32_t, 2, MulWide<int64_t, int32_t>>;
  default:
    return nullptr;
  }
}

Execute decode_mul(Decoder &d) {
  if (float_form(d))
    return decode_float_mul(d);
  if (d.take("wide"))
    return decode_wide(d, false);
  same_type_operands(d, d.instruction.type, 2);
  if (d.take("hi"))
    return select_integer(d.instruction.type, SELECT(2, MulHigh));
  d.take("lo");
  return select_integer(d.instruction.type, SELECT(2, MulLow));
}

Execute decode_mad(Decoder &d) {
  if (float_form(d))
    return decode_float_mad(d);
  if (d.take("wide"))
    return decode_wide(d, true);
  if (d.has("cc"))
    return decode_carry_mad(d, false);
  same_type_operands(d, d.instruction.type, 3);
  if (d.take("hi"))
    return d.take("sat") ? &lanewise<int32_t, int32_t, 3, MadHighSaturated>
                         : select_integer(d.instruction.type, SELECT(3, MadHigh));
  d.take("lo");
  return select_integer(d.instruction.type, SELECT(3, MadLow));
}

Execute decode_24(Decoder &d, bool add) {
  Type type = d.instruction.type = d.take_type();
  same_type_operands(d, type, add ? 3 : 2);
  bool high = d.take("hi");
  if (!high)
    d.take("lo");
  if (type == Type::S32)
    return add ? (high ? &lanewise<int32_t, int32_t, 3, Mad24High<int32_t>>
                       : &lanewise<int32_t, int32_t, 3, Mad24<int32_t>>)
               : (high ? &lanewise<int32_t, int32_t, 2, Mul24High<int32_t>>
                       : &lanewise<int32_t, int32_t, 2, Mul24<int32_t>>);
  return add ? (high ? &lanewise<uint32_t, uint32_t, 3, Mad24High<uint32_t>>
                     : &lanewise<uint32_t, uint32_t, 3, Mad24<uint32_t>>)
             : (high ? &lanewise<uint32_t, uint32_t, 2, Mul24High<uint32_t>>
                     : &lanewise<uint32_t, uint32_t, 2, Mul24<uint32_t>>);
}

// Dot products of four bytes, or of two 16-bit values with two bytes.
template <bool SignedA, bool SignedB> uint32_t Dp4a(const uint32_t *s) {
  uint32_t sum = s[2];
  for (int i = 0; i < 32; i += 8) {
    int32_t a = SignedA ? int8_t(s[0] >> i) : uint8_t(s[0] >> i);
    int32_t b = SignedB ? int8_t(s[1] >> i) : uint8_t(s[1] >> i);
    sum += uint32_t(a * b);
  }
  return sum;
}
template <bool SignedA, bool SignedB, int First> uint32_t Dp2a(const uint32_t *s) {
  uint32_t sum = s[2];
  for (int i = 0; i < 2; ++i) {
    int32_t a = SignedA ? int32_t(int16_t(s[0] >> 16 * i)) : int32_t(uint16_t(s[0] >> 16 * i));
    int32_t b = SignedB ? int8_t(s[1] >> (First + i) * 8) : uint8_t(s[1] >> (First + i) * 8);
    sum += uint32_t(a * b);
  }
  return sum;
}

#define DOT(...) &lanewise<uint32_t, uint32_t, 3, __VA_ARGS__>

Execute decode_dp4a(Decoder &d) {
  bool a = is_signed(d.take_type()), b = is_signed(d.take_type());
  same_type_operands(d, Type::B32, 3);
  return a ? (b ? DOT(Dp4a<true, true>) : DOT(Dp4a<true, false>))
           : (b ? DOT(Dp4a<false, true>) : DOT(Dp4a<false, false>));
}

Execute decode_dp2a(Decoder &d) {
  bool high = d.take("hi");
  if (!high)
    d.take("lo");
  bool a = is_signed(d.take_type()), b = is_signed(d.take_type());
  same_type_operands(d, Type::B32, 3);
  if (high)
    return a ? (b ? DOT(Dp2a<true, true, 2>) : DOT(Dp2a<true, false, 2>))
             : (b ? DOT(Dp2a<false, true, 2>) : DOT(Dp2a<false, false, 2>));
  return a ? (b ? DOT(Dp2a<true, true, 0>) : DOT(Dp2a<true, false, 0>))
           : (b ? DOT(Dp2a<false, true, 0>) : DOT(Dp2a<false, false, 0>));
}

} // namespace

const OpcodeTable &integer_opcodes() {
  static const OpcodeTable table = {
      {"add", OpcodeGroup::Arithmetic, decode_sum<false>},
      {"sub", OpcodeGroup::Arithmetic, decode_sum<true>},
      {"mul", OpcodeGroup::Arithmetic, decode_mul},
      {"mad", OpcodeGroup::Arithmetic, decode_mad},
      {"min", OpcodeGroup::Arithmetic, decode_min_max<true>},
      {"max", OpcodeGroup::Arithmetic, decode_min_max<false>},
      SHARED_OPCODE("div", 2, Div, decode_float_div),
      SHARED_OPCODE("abs", 1, Abs, decode_float_abs),
      SHARED_OPCODE("neg", 1, Neg, decode_float_neg),
      OPCODE("rem", 2, Rem),
      OPCODE("sad", 3, Sad),
      {"addc", OpcodeGroup::Integer,
       [](Decoder &d) {
         d.instruction.type = d.take_type();
         return decode_carry<false>(d, true);
       }},
      {"subc", OpcodeGroup::Integer,
       [](Decoder &d) {
         d.instruction.type = d.take_type();
         return decode_carry<true>(d, true);
       }},
      {"madc", OpcodeGroup::Integer,
       [](Decoder &d) {
         d.instruction.type = d.take_type();
         return decode_carry_mad(d, true);
       }},
      {"mul24", OpcodeGroup::Integer, [](Decoder &d) { return decode_24(d, false); }},
      {"mad24", OpcodeGroup::Integer, [](Decoder &d) { return decode_24(d, true); }},
      {"dp4a", OpcodeGroup::Integer, decode_dp4a},
      {"dp2a", OpcodeGroup::Integer, decode_dp2a},
  };
  return table;
}

} // namespace ptxsim
