// Logic, shifts and bit fields (PTX ISA 9.7.1 and 9.7.7).
#include "execution/defined_bytes.h"
#include "execution/lanewise.h"

#include <algorithm>
#include <type_traits>

namespace ptxsim {

namespace {

template <class T> T And(const T *s) { return s[0] & s[1]; }
template <class T> T Or(const T *s) { return s[0] | s[1]; }
template <class T> T Xor(const T *s) { return s[0] ^ s[1]; }
template <class T> T Not(const T *s) { return T(~s[0]); }
template <class T> T CNot(const T *s) { return s[0] == 0; }

template <class T> T Brev(const T *s) {
  T result = 0;
  for (size_t i = 0; i < sizeof(T) * 8; ++i)
    result |= T((s[0] >> i & 1) << (sizeof(T) * 8 - 1 - i));
  return result;
}

template <class T> uint32_t Popc(const T *s) { return uint32_t(__builtin_popcountll(s[0])); }
template <class T> uint32_t Clz(const T *s) {
  return s[0] ? uint32_t(__builtin_clzll(s[0])) - (64 - sizeof(T) * 8) : sizeof(T) * 8;
}

/// Position of the highest bit that differs from the sign; all ones if there is none.
template <class T> uint32_t Bfind(const T *s) {
  uint64_t value = s[0] < 0 ? uint64_t(~s[0]) : uint64_t(s[0]);
  return value ? 63 - uint32_t(__builtin_clzll(value)) : ~0u;
}
template <class T> uint32_t BfindShift(const T *s) {
  uint32_t position = Bfind(s);
  return position == ~0u ? ~0u : sizeof(T) * 8 - 1 - position;
}

uint32_t BitMask(uint32_t start, uint32_t width, bool wrap) {
  if (wrap) {
    start &= 31;
    width &= 31;
  }
  if (start >= 32 || width == 0)
    return 0;
  uint64_t ones = width >= 32 ? 0xFFFFFFFFull : (1ull << width) - 1;
  return uint32_t(ones << start);
}
template <bool Wrap> uint32_t Bmsk(const uint32_t *s) { return BitMask(s[0], s[1], Wrap); }

template <bool Signed, bool Wrap> uint32_t Szext(const uint32_t *s) {
  uint32_t width = Wrap ? s[1] & 31 : s[1];
  if (width >= 32)
    return s[0];
  if (width == 0)
    return 0;
  uint32_t kept = s[0] & ((1u << width) - 1);
  return Signed && (s[0] >> (width - 1) & 1) ? kept | ~((1u << width) - 1) : kept;
}

/// Position and length are the low bytes of two .u32 operands. Bits past the end of the operand are copies of its sign.
template <class T> Outcome bfe(Warp &warp, const Instruction &in) {
  for (size_t i = 1; i < 4; ++i)
    warp.require(in.operands[i]);
  T *d = warp.lanes<T>(in.operands[0]), *a = warp.lanes<T>(in.operands[1]);
  uint32_t *b = warp.lanes<uint32_t>(in.operands[2]), *c = warp.lanes<uint32_t>(in.operands[3]);
  constexpr uint32_t bits = sizeof(T) * 8;
  for_each_lane(warp.mask, [&](uint32_t lane) {
    uint32_t position = b[lane] & 0xFF, length = c[lane] & 0xFF;
    using Unsigned = std::make_unsigned_t<T>;
    Unsigned value = Unsigned(a[lane]);
    bool sign = std::is_signed_v<T> && length && (value >> std::min(position + length - 1, bits - 1) & 1);
    Unsigned field = position < bits ? Unsigned(value >> position) : 0;
    uint32_t present = position < bits ? std::min(length, bits - position) : 0;
    Unsigned keep = present >= bits ? Unsigned(~Unsigned(0)) : Unsigned((Unsigned(1) << present) - 1);
    d[lane] = T((field & keep) | (sign ? Unsigned(~keep) : Unsigned(0)));
  });
  warp.wrote(in.operands[0]);
  return Outcome::Next;
}

template <class T> Outcome bfi(Warp &warp, const Instruction &in) {
  for (size_t i = 1; i < 5; ++i)
    warp.require(in.operands[i]);
  T *f = warp.lanes<T>(in.operands[0]), *a = warp.lanes<T>(in.operands[1]), *b = warp.lanes<T>(in.operands[2]);
  uint32_t *c = warp.lanes<uint32_t>(in.operands[3]), *l = warp.lanes<uint32_t>(in.operands[4]);
  for_each_lane(warp.mask, [&](uint32_t lane) {
    uint32_t position = c[lane] & 0xFF, length = std::min<uint32_t>(l[lane] & 0xFF, sizeof(T) * 8);
    T keep = length >= sizeof(T) * 8 ? T(~T(0)) : T((T(1) << length) - 1);
    T field = position < sizeof(T) * 8 ? T(keep << position) : T(0);
    f[lane] = T((b[lane] & ~field) | (position < sizeof(T) * 8 ? T(a[lane] << position) & field : T(0)));
  });
  warp.wrote(in.operands[0]);
  return Outcome::Next;
}

/// The shift count is .u32 and is clamped to the width.
template <class T, bool Left> Outcome shift(Warp &warp, const Instruction &in) {
  warp.require(in.operands[1]);
  warp.require(in.operands[2]);
  T *d = warp.lanes<T>(in.operands[0]), *a = warp.lanes<T>(in.operands[1]);
  uint32_t *b = warp.lanes<uint32_t>(in.operands[2]);
  constexpr uint32_t bits = sizeof(T) * 8;
  for_each_lane(warp.mask, [&](uint32_t lane) {
    uint32_t count = b[lane];
    if constexpr (Left)
      d[lane] = count < bits ? T(std::make_unsigned_t<T>(a[lane]) << count) : T(0);
    else
      d[lane] = T(a[lane] >> std::min(count, bits - 1) >> (count >= bits ? 1 : 0));
  });
  warp.wrote(in.operands[0]);
  return Outcome::Next;
}

template <bool Left, bool Wrap> uint32_t Shf(const uint32_t *s) {
  uint32_t count = Wrap ? s[2] & 31 : std::min(s[2], 32u);
  uint64_t both = uint64_t(s[1]) << 32 | s[0];
  return Left ? uint32_t((count == 32 ? both << 32 : both << count) >> 32) : uint32_t(both >> count);
}

uint32_t lut(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t result = 0;
  for (uint32_t row = 0; row < 8; ++row)
    if (table >> row & 1)
      result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
  return result;
}

enum Lop3Setting { TruthTable };

Outcome lop3(Warp &warp, const Instruction &in) {
  for (size_t i = 1; i < 4; ++i)
    warp.require(in.operands[i]);
  uint32_t *d = warp.lanes<uint32_t>(in.operands[0]), *a = warp.lanes<uint32_t>(in.operands[1]),
           *b = warp.lanes<uint32_t>(in.operands[2]), *c = warp.lanes<uint32_t>(in.operands[3]);
  for_each_lane(warp.mask,
                [&](uint32_t lane) { d[lane] = lut(a[lane], b[lane], c[lane], uint32_t(in.settings[TruthTable])); });
  warp.wrote(in.operands[0]);
  return Outcome::Next;
}

/// Operations on predicates, all lanes at once.
template <auto Function> Outcome predicate_logic(Warp &warp, const Instruction &in) {
  uint32_t values[2] = {0, 0};
  for (size_t i = 1; i < in.operands.size(); ++i) {
    warp.require(in.operands[i]);
    values[i - 1] = warp.predicate(in.operands[i]);
  }
  warp.set_predicate(in.operands[0], Function(values));
  return Outcome::Next;
}

template <auto F16, auto F32, auto F64, size_t Sources, DefinedBytes Defined> Execute bitwise(Decoder &d) {
  d.instruction.defined_bytes = Defined;
  Type type = d.instruction.type = d.take_type();
  if (type == Type::Pred) {
    d.expect_operands(Sources + 1, Sources + 1);
    d.predicate_destination(0);
    for (size_t i = 1; i <= Sources; ++i)
      d.predicate(i);
    return &predicate_logic<F32>;
  }
  same_type_operands(d, type, Sources);
  switch (type_size(type)) {
  case 2:
    return &lanewise<uint16_t, uint16_t, Sources, F16>;
  case 4:
    return &lanewise<uint32_t, uint32_t, Sources, F32>;
  case 8:
    return &lanewise<uint64_t, uint64_t, Sources, F64>;
  default:
    return nullptr;
  }
}

#define OPCODE(name, sources, Function, defined)                                                                       \
  {name, OpcodeGroup::Logic, bitwise<Function<uint16_t>, Function<uint32_t>, Function<uint64_t>, sources, defined>}

template <class Select> Execute decode_count(Decoder &d, Select select) {
  Type type = d.instruction.type = d.take_type();
  d.expect_operands(2, 2);
  d.destination(0, Type::U32);
  d.source(1, type);
  return select_integer(type, select);
}

#define COUNT(Function)                                                                                                \
  [](auto zero) -> Execute {                                                                                           \
    using T = decltype(zero);                                                                                          \
    return &lanewise<uint32_t, T, 1, Function<T>>;                                                                     \
  }

Execute decode_field(Decoder &d, bool insert) {
  Type type = d.instruction.type = d.take_type();
  size_t whole = insert ? 3 : 2;
  d.expect_operands(whole + 2, whole + 2);
  d.destination(0, type);
  for (size_t i = 1; i < whole; ++i)
    d.source(i, type);
  d.source(whole, Type::U32);
  d.source(whole + 1, Type::U32);
  if (insert)
    return type_size(type) == 8 ? &bfi<uint64_t> : &bfi<uint32_t>;
  return select_integer(type, [](auto zero) -> Execute { return &bfe<decltype(zero)>; });
}

template <bool Left> Execute decode_shift(Decoder &d) {
  Type type = d.instruction.type = d.take_type();
  d.expect_operands(3, 3);
  d.destination(0, type);
  d.source(1, type);
  d.source(2, Type::U32);
  d.instruction.defined_bytes = Left ? &defined_bytes::shifted_left : &defined_bytes::shifted_right;
  return select_integer(type, [](auto zero) -> Execute { return &shift<decltype(zero), Left>; });
}

Execute decode_shf(Decoder &d) {
  bool left = d.take("l");
  if (!left)
    d.take("r");
  bool wrap = d.take("wrap");
  if (!wrap)
    d.take("clamp");
  d.take_type();
  same_type_operands(d, Type::B32, 3);
  return left ? (wrap ? &lanewise<uint32_t, uint32_t, 3, Shf<true, true>>
                      : &lanewise<uint32_t, uint32_t, 3, Shf<true, false>>)
              : (wrap ? &lanewise<uint32_t, uint32_t, 3, Shf<false, true>>
                      : &lanewise<uint32_t, uint32_t, 3, Shf<false, false>>);
}

Execute decode_lop3(Decoder &d) {
  if (d.take_one_of({"and", "or", "xor"}) >= 0)
    d.unsupported("lop3 with a predicate");
  d.take_type();
  d.expect_operands(5, 5);
  d.destination(0, Type::B32);
  for (size_t i = 1; i < 4; ++i)
    d.source(i, Type::B32);
  d.instruction.settings[TruthTable] = int32_t(d.immediate(4));
  return &lop3;
}

bool take_wrap(Decoder &d) {
  bool wrap = d.take("wrap");
  if (!wrap)
    d.take("clamp");
  return wrap;
}

} // namespace

const OpcodeTable &logic_opcodes() {
  static const OpcodeTable table = {
      OPCODE("and", 2, And, &defined_bytes::conjunction),
      OPCODE("or", 2, Or, &defined_bytes::bytewise),
      OPCODE("xor", 2, Xor, &defined_bytes::bytewise),
      OPCODE("not", 1, Not, &defined_bytes::copied),
      OPCODE("cnot", 1, CNot, nullptr),
      OPCODE("brev", 1, Brev, nullptr),
      {"popc", OpcodeGroup::Logic, [](Decoder &d) { return decode_count(d, COUNT(Popc)); }},
      {"clz", OpcodeGroup::Logic, [](Decoder &d) { return decode_count(d, COUNT(Clz)); }},
      {"bfind", OpcodeGroup::Logic,
       [](Decoder &d) {
         return d.take("shiftamt") ? decode_count(d, COUNT(BfindShift)) : decode_count(d, COUNT(Bfind));
       }},
      {"bfe", OpcodeGroup::Logic, [](Decoder &d) { return decode_field(d, false); }},
      {"bfi", OpcodeGroup::Logic, [](Decoder &d) { return decode_field(d, true); }},
      {"shl", OpcodeGroup::Logic, decode_shift<true>},
      {"shr", OpcodeGroup::Logic, decode_shift<false>},
      {"shf", OpcodeGroup::Logic, decode_shf},
      {"lop3", OpcodeGroup::Logic, decode_lop3},
      {"bmsk", OpcodeGroup::Logic,
       [](Decoder &d) -> Execute {
         bool wrap = take_wrap(d);
         d.take_type();
         same_type_operands(d, Type::B32, 2);
         return wrap ? &lanewise<uint32_t, uint32_t, 2, Bmsk<true>> : &lanewise<uint32_t, uint32_t, 2, Bmsk<false>>;
       }},
      {"szext", OpcodeGroup::Logic,
       [](Decoder &d) -> Execute {
         bool wrap = take_wrap(d);
         bool sign = is_signed(d.take_type());
         same_type_operands(d, Type::B32, 2);
         return sign ? (wrap ? &lanewise<uint32_t, uint32_t, 2, Szext<true, true>>
                             : &lanewise<uint32_t, uint32_t, 2, Szext<true, false>>)
                     : (wrap ? &lanewise<uint32_t, uint32_t, 2, Szext<false, true>>
                             : &lanewise<uint32_t, uint32_t, 2, Szext<false, false>>);
       }},
  };
  return table;
}

} // namespace ptxsim
