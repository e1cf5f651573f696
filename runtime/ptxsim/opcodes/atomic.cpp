// atom and red (PTX ISA 9.7.13.6 and 9.7.13.7). The operations of the lanes are performed one after another.
#include "execution/lanewise.h"
#include "execution/machine.h"
#include "numbers/bit_cast.h"
#include "opcodes/atomic_operation.h"
#include "opcodes/multimem.h"
#include "opcodes/ordering.h"

#include <cstring>

namespace ptxsim {

namespace {

/// settings: operation, ordering, elements, index of the address operand (1 for atom, 0 for red).
enum Setting { Operation, Order, Elements, AddressOperand };

struct Word {
  uint64_t low = 0, high = 0;
};

Word apply(const Instruction &in, Space space, Word old, Word b, Word c) {
  switch (const auto operation = AtomicOperation(in.settings[Operation])) {
  case AtomicOperation::Exchange:
    return b;
  case AtomicOperation::CompareSwap:
    return old.low == b.low && old.high == b.high ? c : old;
  default:
    if (operation == AtomicOperation::Add && in.type == Type::F32 && space == Space::Global)
      return {to_bits(add_flushed(from_bits<float>(old.low), from_bits<float>(b.low))), 0};
    return {apply_atomic(operation, in.type, old.low, b.low), 0};
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
  bool swap = AtomicOperation(in.settings[Operation]) == AtomicOperation::CompareSwap;
  for (size_t i = at + 1; i < in.operands.size() && i < at + (swap ? 3 : 2); ++i)
    for (const Operand &element : in.operands[i].elements)
      warp.require(element);
  Actor actor = warp.actor(true);
  bool changes = false;
  for_each_lane(warp.mask, [&](uint32_t lane) {
    uint64_t address = warp.address(a, lane);
    MemoryLocation location = warp.locate(in.space, address, total, total, lane, true);
    if (location.space == Space::Local)
      warp.trap_lane(lane, trap_kind::illegal, "atomic operation on local memory");
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
      Word result = apply(in, location.space, old, b, c);
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

bool adds_or_compares(AtomicOperation operation) {
  return operation == AtomicOperation::Add || operation == AtomicOperation::Min || operation == AtomicOperation::Max;
}

bool is_scalar_form(AtomicOperation operation, Type type) {
  switch (operation) {
  case AtomicOperation::And:
  case AtomicOperation::Or:
  case AtomicOperation::Xor:
    return is_one_of(type, {Type::B32, Type::B64});
  case AtomicOperation::Exchange:
    return is_one_of(type, {Type::B32, Type::B64, Type::B128});
  case AtomicOperation::CompareSwap:
    return is_one_of(type, {Type::B16, Type::B32, Type::B64, Type::B128});
  case AtomicOperation::Add:
    return is_one_of(type, {Type::U32, Type::S32, Type::U64, Type::F32, Type::F64}) || is_half(type);
  case AtomicOperation::Inc:
  case AtomicOperation::Dec:
    return type == Type::U32;
  default:
    return is_one_of(type, {Type::U32, Type::S32, Type::U64, Type::S64});
  }
}

/// Vectors are in global memory, and have at most 16 bytes.
bool is_vector_form(AtomicOperation operation, Type type, uint32_t elements, Space space) {
  if (elements * type_size(type) > 16 || (space != Space::Global && space != Space::Generic))
    return false;
  return is_half(type) ? adds_or_compares(operation) : type == Type::F32 && operation == AtomicOperation::Add;
}

Execute decode_atomic(Decoder &d, bool returns) {
  Instruction &in = d.instruction;
  in.settings[Order] = take_ordering(d, Ordering::Relaxed);
  in.space = d.take_space();
  in.settings[Operation] = d.take_one_of({"and", "or", "xor", "exch", "cas", "add", "inc", "dec", "min", "max"});
  if (in.settings[Operation] < 0)
    d.malformed("'" + in.text + "' has no operation");
  const bool keeps_subnormals = d.take("noftz");
  while (d.take_prefixed("L2::")) {
  }
  int vector = d.take_one_of({"v2", "v4", "v8"});
  in.settings[Elements] = vector < 0 ? 1 : 2 << vector;
  in.type = d.take_type();
  const auto operation = AtomicOperation(in.settings[Operation]);
  const auto elements = uint32_t(in.settings[Elements]);
  const bool exists =
      elements > 1 ? is_vector_form(operation, in.type, elements, in.space) : is_scalar_form(operation, in.type);
  const bool swap = operation == AtomicOperation::CompareSwap;
  if (!exists || keeps_subnormals != is_half(in.type) || (!returns && (swap || operation == AtomicOperation::Exchange)))
    d.malformed("'" + in.text + "' is not a form of " + (returns ? "atom" : "red"));
  size_t at = returns ? 1 : 0;
  in.settings[AddressOperand] = int32_t(at);
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

/// The update of one device.
Execute decode_multimem_update(Decoder &d) {
  Instruction &in = d.instruction;
  in.settings[Order] = take_ordering(d, Ordering::Relaxed);
  in.space = d.take_space();
  const auto operation = take_multimem_operation(d);
  int vector = d.take_one_of({"v2", "v4", "v8"});
  in.type = d.take_type();
  in.settings[Operation] = int32_t(operation);
  in.settings[Elements] = vector < 0 ? 1 : 2 << vector;
  in.settings[AddressOperand] = 0;
  const uint32_t elements = uint32_t(in.settings[Elements]);
  if (!has_multimem_reduction(operation, in.type, /*loads=*/false) || !is_multimem_access(in.type, elements, in.space))
    d.malformed("'" + in.text + "' is not a form of multimem.red");
  d.expect_operands(2, 2);
  d.address(0);
  d.vector(1, in.type, elements, true);
  return &atomic;
}

} // namespace

const OpcodeTable &atomic_opcodes() {
  static const OpcodeTable table = {
      {"atom", OpcodeGroup::Atomic, [](Decoder &d) { return decode_atomic(d, true); }},
      {"red", OpcodeGroup::Atomic, [](Decoder &d) { return decode_atomic(d, false); }},
      {"multimem.red", OpcodeGroup::Atomic, decode_multimem_update},
  };
  return table;
}

} // namespace ptxsim
