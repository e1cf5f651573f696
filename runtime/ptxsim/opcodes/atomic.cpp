// atom and red (PTX ISA 9.7.13.6 and 9.7.13.7): each lane's operation happens on its own, in the order of lanes.
#include "bit_cast.h"
#include "lanewise.h"
#include "machine.h"
#include "opcodes/ordering.h"
#include "small_float.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ptxsim {

namespace {

enum class Operation { And, Or, Xor, Exchange, CompareSwap, Add, Inc, Dec, Min, Max };

/// settings: operation, ordering, elements, index of the address operand (1 for atom, 0 for red).
enum Setting { What, Order, Elements, AddressOperand };

struct Word {
  uint64_t low = 0, high = 0;
};

uint64_t add(Type type, uint64_t a, uint64_t b) {
  auto half = [&](int shift) {
    return uint64_t(to_f16(double(from_f16(uint16_t(a >> shift))) + from_f16(uint16_t(b >> shift)))) << shift;
  };
  auto bhalf = [&](int shift) {
    return uint64_t(to_bf16(double(from_bf16(uint16_t(a >> shift))) + from_bf16(uint16_t(b >> shift)))) << shift;
  };
  switch (type) {
  case Type::F32:
    return to_bits(from_bits<float>(a) + from_bits<float>(b));
  case Type::F64:
    return to_bits(from_bits<double>(a) + from_bits<double>(b));
  case Type::F16:
    return half(0);
  case Type::F16x2:
    return half(0) | half(16);
  case Type::BF16:
    return bhalf(0);
  case Type::BF16x2:
    return bhalf(0) | bhalf(16);
  default:
    return a + b;
  }
}

uint64_t extreme(Type type, bool least, uint64_t a, uint64_t b) {
  bool take_b;
  auto pick = [&](auto first, auto second) { return least ? second < first : second > first; };
  auto packed = [&](auto widen) {
    uint64_t result = 0;
    int parts = type_size(type) == 4 ? 2 : 1;
    for (int i = 0; i < parts; ++i) {
      uint16_t x = uint16_t(a >> 16 * i), y = uint16_t(b >> 16 * i);
      bool other = std::isnan(widen(x)) || pick(widen(x), widen(y));
      result |= uint64_t(other ? y : x) << 16 * i;
    }
    return result;
  };
  switch (type) {
  case Type::S32:
    take_b = pick(int32_t(a), int32_t(b));
    break;
  case Type::S64:
    take_b = pick(int64_t(a), int64_t(b));
    break;
  case Type::F16:
  case Type::F16x2:
    return packed(from_f16);
  case Type::BF16:
  case Type::BF16x2:
    return packed(from_bf16);
  case Type::F32:
    take_b = std::isnan(from_bits<float>(a)) || pick(from_bits<float>(a), from_bits<float>(b));
    break;
  default:
    take_b = pick(a, b);
  }
  return take_b ? b : a;
}

Word apply(const Instruction &in, Word old, Word b, Word c) {
  Type type = in.type;
  switch (Operation(in.settings[What])) {
  case Operation::And:
    return {old.low & b.low, 0};
  case Operation::Or:
    return {old.low | b.low, 0};
  case Operation::Xor:
    return {old.low ^ b.low, 0};
  case Operation::Exchange:
    return b;
  case Operation::CompareSwap:
    return old.low == b.low && old.high == b.high ? c : old;
  case Operation::Add:
    return {add(type, old.low, b.low), 0};
  case Operation::Inc:
    return {uint32_t(old.low) >= uint32_t(b.low) ? 0 : old.low + 1, 0};
  case Operation::Dec:
    return {old.low == 0 || uint32_t(old.low) > uint32_t(b.low) ? b.low : old.low - 1, 0};
  case Operation::Min:
    return {extreme(type, true, old.low, b.low), 0};
  default:
    return {extreme(type, false, old.low, b.low), 0};
  }
}

Word read_register(Warp &warp, const Operand &operand, uint32_t lane) {
  Word result;
  std::memcpy(&result, warp.lanes<uint8_t>(operand) + size_t(lane) * operand.size, operand.size);
  return result;
}

Outcome atomic(Warp &warp, const Instruction &in) {
  size_t at = size_t(in.settings[AddressOperand]);
  const Operand &a = in.operands[at];
  warp.require(a);
  uint32_t size = type_size(in.type), count = uint32_t(in.settings[Elements]), total = size * count;
  bool swap = Operation(in.settings[What]) == Operation::CompareSwap;
  for (size_t i = at + 1; i < in.operands.size() && i < at + (swap ? 3 : 2); ++i)
    for (const Operand &element : in.operands[i].elements)
      warp.require(element);
  Actor actor = warp.actor(true);
  bool changes = false;
  for_each_lane(warp.mask, [&](uint32_t lane) {
    uint64_t address = warp.address(a, lane);
    MemoryLocation location = warp.locate(in.space, address, total, total, lane, true);
    if (location.space == Space::Local)
      warp.trap_lane(lane, trap_kind::illegal, "an atomic operation on local memory");
    if (is_release(in.settings[Order]))
      release_to(warp, in.space, address, in.settings[Order]);
    if (is_acquire(in.settings[Order]))
      acquire_from(warp, in.space, address, in.settings[Order]);
    if (location.space == Space::SharedCta) {
      warp.check_shared_read(*location.cta, location.offset, total, actor, lane);
      warp.check_shared_write(*location.cta, location.offset, total, actor, lane);
    }
    for (uint32_t i = 0; i < count; ++i) {
      Word old, b = read_register(warp, in.operands[at + 1].elements[i], lane);
      Word c = swap ? read_register(warp, in.operands[at + 2].elements[i], lane) : Word();
      std::memcpy(&old, location.bytes + i * size, size);
      Word result = apply(in, old, b, c);
      changes = changes || std::memcmp(&old, &result, size) != 0;
      std::memcpy(location.bytes + i * size, &result, size);
      if (at)
        std::memcpy(warp.lanes<uint8_t>(in.operands[0].elements[i]) + size_t(lane) * size, &old, size);
    }
  });
  if (changes)
    warp.machine.changed();
  if (at)
    for (const Operand &element : in.operands[0].elements)
      warp.wrote(element);
  return Outcome::Next;
}

Execute decode_atomic(Decoder &d, bool returns) {
  Instruction &in = d.instruction;
  in.settings[Order] = take_ordering(d, Ordering::Relaxed);
  in.space = d.take_space();
  in.settings[What] = d.take_one_of({"and", "or", "xor", "exch", "cas", "add", "inc", "dec", "min", "max"});
  if (in.settings[What] < 0)
    d.malformed("'" + in.text + "' names no operation");
  d.take("noftz");
  d.take("ftz");
  while (d.take_prefixed("L2::")) {
  }
  int vector = d.take_one_of({"v2", "v4", "v8"});
  in.settings[Elements] = vector < 0 ? 1 : 2 << vector;
  in.type = d.take_type();
  size_t at = returns ? 1 : 0;
  in.settings[AddressOperand] = int32_t(at);
  bool swap = Operation(in.settings[What]) == Operation::CompareSwap;
  d.expect_operands(at + (swap ? 3 : 2), at + (swap ? 4 : 3));
  size_t count = size_t(in.settings[Elements]);
  if (returns)
    d.vector(0, in.type, count, false);
  d.address(at);
  if (in.space == Space::Generic && in.operands[at].variable >= 0)
    in.space = d.program.variables[size_t(in.operands[at].variable)].space;
  d.vector(at + 1, in.type, count, true);
  if (swap)
    d.vector(at + 2, in.type, count, true);
  return &atomic;
}

} // namespace

const OpcodeTable &atomic_opcodes() {
  static const OpcodeTable table = {
      {"atom", "atomic", [](Decoder &d) { return decode_atomic(d, true); }},
      {"red", "atomic", [](Decoder &d) { return decode_atomic(d, false); }},
  };
  return table;
}

} // namespace ptxsim
