// Comparison and selection (PTX ISA 9.7.6), testp and copysign.
#include "execution/defined_bytes.h"
#include "execution/lanewise.h"
#include "numbers/small_float.h"

#include <cmath>
#include <cstring>

namespace ptxsim {

namespace {

enum class Comparison { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };

/// settings: comparison, boolean operation with operand c (-1 for none), ftz.
enum Setting { Compare, Combine, Ftz };

template <class T> bool unordered(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(a) || std::isnan(b);
  else
    return (void)a, (void)b, false;
}

template <Comparison Which, class T> bool compare(T a, T b) {
  if constexpr (Which == Comparison::Eq)
    return a == b;
  else if constexpr (Which == Comparison::Ne)
    return a != b && !unordered(a, b);
  else if constexpr (Which == Comparison::Lt)
    return a < b;
  else if constexpr (Which == Comparison::Le)
    return a <= b;
  else if constexpr (Which == Comparison::Gt)
    return a > b;
  else if constexpr (Which == Comparison::Ge)
    return a >= b;
  else if constexpr (Which == Comparison::Equ)
    return a == b || unordered(a, b);
  else if constexpr (Which == Comparison::Neu)
    return a != b;
  else if constexpr (Which == Comparison::Ltu)
    return !(a >= b);
  else if constexpr (Which == Comparison::Leu)
    return !(a > b);
  else if constexpr (Which == Comparison::Gtu)
    return !(a <= b);
  else if constexpr (Which == Comparison::Geu)
    return !(a < b);
  else if constexpr (Which == Comparison::Num)
    return !unordered(a, b);
  else
    return unordered(a, b);
}

template <class T> T flushed(T value, bool ftz) {
  if constexpr (std::is_same_v<T, float>)
    if (ftz && std::fpclassify(value) == FP_SUBNORMAL)
      return std::copysign(0.0f, value);
  return (void)ftz, value;
}

/// Lanes in which the comparison compare_lanes.
template <class T> uint32_t compare_lanes(Comparison which, const T *a, const T *b, uint32_t mask, bool ftz) {
  uint32_t result = 0;
  auto for_lanes = [&](auto test) {
    if (mask == ~0u && !ftz)
      for (uint32_t lane = 0; lane < lane_count; ++lane)
        result |= uint32_t(test(a[lane], b[lane])) << lane;
    else
      for_each_lane(
          mask, [&](uint32_t lane) { result |= uint32_t(test(flushed(a[lane], ftz), flushed(b[lane], ftz))) << lane; });
  };
#define CASE(Which)                                                                                                    \
  case Comparison::Which:                                                                                              \
    for_lanes([](T x, T y) { return compare<Comparison::Which, T>(x, y); });                                           \
    break
  switch (which) {
    CASE(Eq);
    CASE(Ne);
    CASE(Lt);
    CASE(Le);
    CASE(Gt);
    CASE(Ge);
    CASE(Equ);
    CASE(Neu);
    CASE(Ltu);
    CASE(Leu);
    CASE(Gtu);
    CASE(Geu);
    CASE(Num);
    CASE(Nan);
  }
#undef CASE
  return result;
}

uint32_t combine(const Instruction &in, uint32_t value, uint32_t other) {
  switch (in.settings[Combine]) {
  case 0:
    return value & other;
  case 1:
    return value | other;
  case 2:
    return value ^ other;
  default:
    return value;
  }
}

/// The lanes of an operand as T: in the register, or converted from a 16-bit float into `buffer`.
struct AsIs {
  template <class T> static const T *lanes(Warp &warp, const Operand &operand, T *) { return warp.lanes<T>(operand); }
};
template <float (*Widen)(uint16_t)> struct Widened {
  static const float *lanes(Warp &warp, const Operand &operand, float *buffer) {
    uint16_t *bits = warp.lanes<uint16_t>(operand);
    for (uint32_t lane = 0; lane < lane_count; ++lane)
      buffer[lane] = Widen(bits[lane]);
    return buffer;
  }
};

template <class T, class From> uint32_t compare_operands(Warp &warp, const Instruction &in) {
  const Operand &a = in.operands[1], &b = in.operands[2];
  warp.require(a);
  warp.require(b);
  T first[lane_count], second[lane_count];
  return compare_lanes<T>(Comparison(in.settings[Compare]), From::lanes(warp, a, first), From::lanes(warp, b, second),
                          warp.mask, in.settings[Ftz]);
}

/// The predicate that the result is combined with.
uint32_t combined_predicate(Warp &warp, const Instruction &in) {
  if (in.operands.size() <= 3)
    return ~0u;
  warp.require(in.operands[3]);
  return warp.predicate(in.operands[3]);
}

template <class T, class From> Outcome setp(Warp &warp, const Instruction &in) {
  const uint32_t value = compare_operands<T, From>(warp, in), other = combined_predicate(warp, in);
  const Operand &d = in.operands[0];
  if (d.kind != Operand::Kind::Vector) {
    warp.set_predicate(d, combine(in, value, other));
    return Outcome::Next;
  }
  warp.set_predicate(d.elements[0], combine(in, value, other));
  warp.set_predicate(d.elements[1], combine(in, ~value, other));
  return Outcome::Next;
}

/// Packed operands: p is the result of the lower halves, q of the upper halves.
template <float (*Widen)(uint16_t)> Outcome setp_pair(Warp &warp, const Instruction &in) {
  warp.require(in.operands[1]);
  warp.require(in.operands[2]);
  uint32_t *a = warp.lanes<uint32_t>(in.operands[1]), *b = warp.lanes<uint32_t>(in.operands[2]);
  const uint32_t other = combined_predicate(warp, in);
  for (int part = 0; part < 2; ++part) {
    float first[lane_count], second[lane_count];
    for (uint32_t lane = 0; lane < lane_count; ++lane) {
      first[lane] = Widen(uint16_t(a[lane] >> 16 * part));
      second[lane] = Widen(uint16_t(b[lane] >> 16 * part));
    }
    uint32_t value = compare_lanes<float>(Comparison(in.settings[Compare]), first, second, warp.mask, false);
    warp.set_predicate(in.operands[0].elements[size_t(part)], combine(in, value, other));
  }
  return Outcome::Next;
}

/// set: all ones or 1.0 where the comparison compare_lanes, else zero.
template <class T, class From> Outcome set(Warp &warp, const Instruction &in) {
  const uint32_t compared = compare_operands<T, From>(warp, in);
  const uint32_t value = combine(in, compared, combined_predicate(warp, in));
  uint64_t truth = in.type == Type::F32    ? 0x3F800000u
                   : in.type == Type::F16  ? 0x3C00u
                   : in.type == Type::BF16 ? 0x3F80u
                                           : ~0ull;
  for_each_lane(warp.mask, [&](uint32_t lane) { warp.set_bits(in.operands[0], lane, value >> lane & 1 ? truth : 0); });
  warp.wrote(in.operands[0]);
  return Outcome::Next;
}

/// The operand types of a comparison (PTX ISA 9.7.6.2).
struct ComparisonRow {
  const char *name;
  Comparison which;
  bool bits, is_unsigned, is_signed, is_float;
};

constexpr ComparisonRow comparison_rows[] = {
    {"eq", Comparison::Eq, true, true, true, true},      {"ne", Comparison::Ne, true, true, true, true},
    {"lt", Comparison::Lt, false, true, true, true},     {"le", Comparison::Le, false, true, true, true},
    {"gt", Comparison::Gt, false, true, true, true},     {"ge", Comparison::Ge, false, true, true, true},
    {"lo", Comparison::Lt, false, true, false, false},   {"ls", Comparison::Le, false, true, false, false},
    {"hi", Comparison::Gt, false, true, false, false},   {"hs", Comparison::Ge, false, true, false, false},
    {"equ", Comparison::Equ, false, false, false, true}, {"neu", Comparison::Neu, false, false, false, true},
    {"ltu", Comparison::Ltu, false, false, false, true}, {"leu", Comparison::Leu, false, false, false, true},
    {"gtu", Comparison::Gtu, false, false, false, true}, {"geu", Comparison::Geu, false, false, false, true},
    {"num", Comparison::Num, false, false, false, true}, {"nan", Comparison::Nan, false, false, false, true},
};

const ComparisonRow &take_comparison(Decoder &d) {
  for (const ComparisonRow &row : comparison_rows)
    if (d.take(row.name)) {
      d.instruction.settings[Compare] = int32_t(row.which);
      d.instruction.settings[Combine] = d.take_one_of({"and", "or", "xor"});
      d.instruction.settings[Ftz] = d.take("ftz");
      return row;
    }
  d.malformed("'" + d.instruction.text + "' has no comparison");
}

bool compares(const ComparisonRow &row, Type type) {
  switch (type) {
  case Type::B16:
  case Type::B32:
  case Type::B64:
    return row.bits;
  case Type::U16:
  case Type::U32:
  case Type::U64:
    return row.is_unsigned;
  case Type::S16:
  case Type::S32:
  case Type::S64:
    return row.is_signed;
  case Type::F16:
  case Type::F16x2:
  case Type::BF16:
  case Type::BF16x2:
  case Type::F32:
  case Type::F64:
    return row.is_float;
  default:
    return false;
  }
}

void check_comparison(Decoder &d, const ComparisonRow &row, Type type) {
  const bool flushes = type == Type::F16 || type == Type::F16x2 || type == Type::F32;
  if (d.empty() && (!compares(row, type) || (d.instruction.settings[Ftz] && !flushes)))
    d.malformed("'" + d.instruction.text + "' is not a form of this comparison: operands of type ." +
                std::string(type_name(type)));
}

/// Throws unless set has the result type `to` for operands of type `from`.
void check_set_result(Decoder &d, Type to, Type from) {
  const bool from_16_bits = from == Type::F16 || from == Type::BF16;
  bool exists = to == Type::U32 || to == Type::S32;
  if (to == Type::U16)
    exists = from_16_bits;
  else if (to == Type::F16)
    exists = from != Type::BF16;
  else if (to == Type::BF16)
    exists = !d.instruction.settings[Ftz];
  else if (to == Type::F32)
    exists = !from_16_bits;
  if (d.empty() && !exists)
    d.malformed("'" + d.instruction.text + "' is not a form of set");
}

/// Decodes the operands after the destination: a, b and, with a boolean operation, c.
void decode_compared_operands(Decoder &d, Type type) {
  bool combines = d.instruction.settings[Combine] >= 0;
  d.expect_operands(combines ? 4 : 3, combines ? 4 : 3);
  d.source(1, type);
  d.source(2, type);
  if (combines)
    d.predicate(3);
}

/// Calls select(T, From) with values of the type that operands of `type` are compared in and of their conversion to it.
template <class Select> Execute select_compared(Type type, Select select) {
  switch (type) {
  case Type::F16:
    return select(float(), Widened<from_f16>());
  case Type::BF16:
    return select(float(), Widened<from_bf16>());
  case Type::F32:
    return select(float(), AsIs());
  case Type::F64:
    return select(double(), AsIs());
  default:
    return select_integer(type, [&](auto zero) -> Execute { return select(zero, AsIs()); });
  }
}

Execute decode_setp(Decoder &d) {
  const ComparisonRow &row = take_comparison(d);
  Type type = d.instruction.type = d.take_type();
  check_comparison(d, row, type);
  decode_compared_operands(d, type);
  bool packed = type == Type::F16x2 || type == Type::BF16x2;
  Operand &destination = d.instruction.operands[0];
  if (destination.kind == Operand::Kind::Vector) {
    if (destination.elements.size() != 2)
      d.malformed("'" + d.instruction.text + "' expects p or p|q");
    for (Operand &element : destination.elements) {
      if (element.kind == Operand::Kind::Sink)
        d.destination(element, Type::B32);
      else if (element.kind != Operand::Kind::Predicate)
        d.malformed("'" + d.instruction.text + "' expects predicates as destinations");
    }
  } else if (packed) {
    d.malformed("'" + d.instruction.text + "' expects two destinations p|q");
  } else {
    d.predicate_destination(0);
  }
  if (type == Type::F16x2)
    return &setp_pair<from_f16>;
  if (type == Type::BF16x2)
    return &setp_pair<from_bf16>;
  return select_compared(type, [](auto zero, auto from) -> Execute { return &setp<decltype(zero), decltype(from)>; });
}

Execute decode_set(Decoder &d) {
  const ComparisonRow &row = take_comparison(d);
  Type to = d.instruction.type = d.take_type();
  Type type = d.take_type();
  if (type == Type::F16x2 || type == Type::BF16x2)
    d.unsupported("set of packed types");
  check_comparison(d, row, type);
  check_set_result(d, to, type);
  decode_compared_operands(d, type);
  d.destination(0, to);
  return select_compared(type, [](auto zero, auto from) -> Execute { return &set<decltype(zero), decltype(from)>; });
}

/// d = p ? a : b. The operand that is not selected may be undefined.
template <class T> Outcome selp(Warp &warp, const Instruction &in) {
  const Operand &d = in.operands[0], &a = in.operands[1], &b = in.operands[2], &p = in.operands[3];
  warp.require(p);
  warp.require(a);
  warp.require(b);
  uint32_t choose = warp.predicate(p);
  T *result = warp.lanes<T>(d), *first = warp.lanes<T>(a), *second = warp.lanes<T>(b);
  for_each_lane(warp.mask, [&](uint32_t lane) { result[lane] = choose >> lane & 1 ? first[lane] : second[lane]; });
  warp.wrote(d);
  return Outcome::Next;
}

Execute decode_selp(Decoder &d) {
  Type type = d.instruction.type = d.take_type();
  d.expect_operands(4, 4);
  d.instruction.defined_bytes = &defined_bytes::selected;
  d.destination(0, type);
  d.source(1, type);
  d.source(2, type);
  d.predicate(3);
  switch (type_size(type)) {
  case 2:
    return &selp<uint16_t>;
  case 4:
    return &selp<uint32_t>;
  case 8:
    return &selp<uint64_t>;
  default:
    return nullptr;
  }
}

/// d = c >= 0 ? a : b.
template <class C> Outcome slct(Warp &warp, const Instruction &in) {
  for (size_t i = 1; i < 4; ++i)
    warp.require(in.operands[i]);
  C *c = warp.lanes<C>(in.operands[3]);
  for_each_lane(warp.mask, [&](uint32_t lane) {
    warp.set_bits(in.operands[0], lane, warp.bits(in.operands[c[lane] >= 0 ? 1 : 2], lane));
  });
  warp.wrote(in.operands[0]);
  return Outcome::Next;
}

Execute decode_slct(Decoder &d) {
  d.take("ftz");
  Type type = d.instruction.type = d.take_type();
  Type by = d.take_type();
  if (!is_one_of(by, {Type::S32, Type::F32}))
    d.malformed("'" + d.instruction.text + "' selects by a value of type .s32 or .f32");
  d.expect_operands(4, 4);
  d.destination(0, type);
  d.source(1, type);
  d.source(2, type);
  d.source(3, by);
  return by == Type::F32 ? &slct<float> : &slct<int32_t>;
}

enum TestpSetting { Test };

template <class T> Outcome testp(Warp &warp, const Instruction &in) {
  warp.require(in.operands[1]);
  T *a = warp.lanes<T>(in.operands[1]);
  uint32_t result = 0;
  for_each_lane(warp.mask, [&](uint32_t lane) {
    int kind = std::fpclassify(a[lane]);
    const bool tests[] = {std::isfinite(a[lane]), kind == FP_INFINITE, kind != FP_NAN,
                          kind == FP_NAN,         kind == FP_NORMAL,   kind == FP_SUBNORMAL};
    result |= uint32_t(tests[in.settings[Test]]) << lane;
  });
  warp.set_predicate(in.operands[0], result);
  return Outcome::Next;
}

Execute decode_testp(Decoder &d) {
  d.instruction.settings[Test] = d.take_one_of({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  if (d.instruction.settings[Test] < 0)
    d.malformed("'" + d.instruction.text + "' has no test");
  Type type = d.instruction.type = d.take_type();
  d.expect_operands(2, 2);
  d.predicate_destination(0);
  d.source(1, type);
  return type == Type::F64 ? &testp<double> : &testp<float>;
}

/// The magnitude of b with the sign of a.
template <class T, T SignBit> T CopySign(const T *s) { return (s[1] & ~SignBit) | (s[0] & SignBit); }

Execute decode_copysign(Decoder &d) {
  Type type = d.instruction.type = d.take_type();
  same_type_operands(d, type, 2);
  return type == Type::F64 ? &lanewise<uint64_t, uint64_t, 2, CopySign<uint64_t, 1ull << 63>>
                           : &lanewise<uint32_t, uint32_t, 2, CopySign<uint32_t, 1u << 31>>;
}

} // namespace

const OpcodeTable &compare_opcodes() {
  static const OpcodeTable table = {
      {"setp", OpcodeGroup::Compare, decode_setp},   {"set", OpcodeGroup::Compare, decode_set},
      {"selp", OpcodeGroup::Compare, decode_selp},   {"slct", OpcodeGroup::Compare, decode_slct},
      {"testp", OpcodeGroup::Compare, decode_testp}, {"copysign", OpcodeGroup::Compare, decode_copysign},
  };
  return table;
}

} // namespace ptxsim
