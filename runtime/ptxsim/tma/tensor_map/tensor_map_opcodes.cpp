// Tensor maps that a program modifies: tensormap.replace, tensormap.cp_fenceproxy, fence.proxy.tensormap, and
// their prefetch (PTX ISA 9.7.9.28, 9.7.13.15).
//
// settings of an instruction: the enumerators of Setting, in order.
#include "execution/machine.h"
#include "program/decoder.h"
#include "program/opcode.h"
#include "tma/tensor_map/tensor_map.h"
#include "tma/tensor_map/tensor_map_write.h"
#include "tma/transfer.h"

namespace ptxsim {
namespace {

enum Setting : uint8_t { Field, HasOrdinal, ValueOperand };

TensorMapProxy::Event event_of(const Warp &warp) { return {&warp.cluster, warp.clock.agent, warp.clock.now()}; }

Outcome replace(Warp &warp, const Instruction &in) {
  const Operand &value = in.operands[in.settings[ValueOperand]];
  warp.require(value);
  for_each_lane(warp.mask, [&](uint32_t lane) {
    const uint64_t address = warp.defined_address(in.operands[0], lane);
    const MemoryLocation location = warp.locate(in.space, address, tensor_map_bytes, tensor_map_alignment, lane, true);
    if (location.space == Space::SharedCta) {
      // The other fields keep their values, so the object must have been written as a whole.
      warp.check_shared_read(*location.cta, location.offset, tensor_map_bytes, warp.actor(), lane);
      warp.check_shared_write(*location.cta, location.offset, tensor_map_bytes, warp.actor(), lane);
    } else {
      warp.machine.tensor_map_proxy.write(location.offset, in.line, event_of(warp));
    }
    const uint32_t ordinal = in.settings[HasOrdinal] ? static_cast<uint32_t>(in.operands[1].value) : 0;
    const std::string wrong = replace_field(location.bytes, static_cast<TensorMapField>(in.settings[Field]), ordinal,
                                            warp.bits(value, lane), warp.machine.program.target);
    if (!wrong.empty())
      warp.trap_lane(lane, trap_kind::descriptor, wrong);
    warp.machine.changed();
  });
  return Outcome::Next;
}

Execute decode_replace(Decoder &decoder) {
  decoder.take("tile");
  const int field =
      decoder.take_one_of({"global_address", "rank", "box_dim", "global_dim", "global_stride", "element_stride",
                           "elemtype", "interleave_layout", "swizzle_mode", "swizzle_atomicity", "fill_mode"});
  if (field < 0)
    decoder.malformed("expected a field of a tensor map");
  const auto kind = static_cast<TensorMapField>(field);
  if (kind == TensorMapField::SwizzleAtomicity)
    decoder.expect_target(Targets::Sm100, ".swizzle_atomicity");
  Instruction &in = decoder.instruction;
  in.space = decoder.take_space();
  decoder.expect_modifiers({"b1024"});
  const bool ordinal = kind >= TensorMapField::BoxDim && kind <= TensorMapField::ElementStride;
  in.settings[Field] = field;
  in.settings[HasOrdinal] = ordinal;
  in.settings[ValueOperand] = ordinal ? 2 : 1;
  decoder.expect_operands(ordinal ? 3 : 2, ordinal ? 3 : 2);
  decoder.address(0);
  if (ordinal)
    decoder.immediate(1);
  const auto type = decoder.take_type_if_any();
  decoder.source(in.settings[ValueOperand], type.value_or(Type::B32));
  return replace;
}

/// Shared to global, with the release to the tensormap proxy.
Outcome copy_and_release(Warp &warp, const Instruction &in) {
  const uint32_t lane = warp.first_lane();
  const MemoryLocation to = warp.locate(Space::Global, warp.defined_address(in.operands[0], lane), tensor_map_bytes,
                                        tensor_map_bytes, lane, true);
  const MemoryLocation from =
      warp.locate_shared(warp.defined_address(in.operands[1], lane), tensor_map_bytes, tensor_map_bytes, lane);
  warp.check_shared_read(*from.cta, from.offset, tensor_map_bytes, warp.actor(), lane);
  std::memcpy(to.bytes, from.bytes, tensor_map_bytes);
  warp.machine.tensor_map_proxy.write_and_release(to.offset, in.line);
  return Outcome::Next;
}

Execute decode_copy(Decoder &decoder) {
  decoder.expect_modifiers({"global", "shared::cta", "tensormap::generic", "release", "sync", "aligned"});
  if (decoder.take_one_of({"cta", "cluster", "gpu", "sys"}) < 0)
    decoder.malformed("expected a scope");
  decoder.instruction.converge = Converge::All;
  decoder.expect_operands(3, 3);
  decoder.address(0);
  decoder.address(1);
  if (decoder.immediate(2) != tensor_map_bytes)
    decoder.malformed("expected size 128");
  return copy_and_release;
}

Outcome release(Warp &warp, const Instruction &) {
  warp.machine.tensor_map_proxy.release(&warp.cluster, warp.clock.known.happened);
  return Outcome::Next;
}

Outcome acquire(Warp &warp, const Instruction &in) {
  for_each_lane(warp.mask, [&](uint32_t lane) {
    const uint64_t address = warp.defined_address(in.operands[0], lane);
    warp.locate(Space::Generic, address, tensor_map_bytes, tensor_map_alignment, lane, false);
    warp.machine.tensor_map_proxy.acquire(address, event_of(warp));
  });
  return Outcome::Next;
}

Execute decode_fence(Decoder &decoder) {
  const bool releases = decoder.take("release");
  if (!releases && !decoder.take("acquire"))
    decoder.malformed("expected .release or .acquire");
  if (decoder.take_one_of({"cta", "cluster", "gpu", "sys"}) < 0)
    decoder.malformed("expected a scope");
  if (releases)
    return decode_without_operands<release>(decoder);
  decoder.expect_operands(2, 2);
  decoder.address(0);
  if (decoder.immediate(1) != tensor_map_bytes)
    decoder.malformed("expected size 128");
  return acquire;
}

Outcome prefetch(Warp &warp, const Instruction &in) {
  for_each_lane(warp.mask, [&](uint32_t lane) {
    warp.locate(in.space, warp.defined_address(in.operands[0], lane), tensor_map_bytes, tensor_map_alignment, lane,
                false);
  });
  return Outcome::Next;
}

/// A map in .const has a generic address.
Execute decode_prefetch(Decoder &decoder) {
  decoder.instruction.space = decoder.take_one_of({"param", "const"}) == 0 ? Space::Param : Space::Generic;
  decoder.expect_operands(1, 1);
  decoder.address(0);
  return prefetch;
}

} // namespace

const OpcodeTable &tensor_map_opcodes() {
  static const OpcodeTable table = {
      {"tensormap.replace", OpcodeGroup::Tma, decode_replace},
      {"tensormap.cp_fenceproxy", OpcodeGroup::Tma, decode_copy},
      {"fence.proxy.tensormap::generic", OpcodeGroup::Fence, decode_fence},
      {"prefetch.tensormap", OpcodeGroup::Tma, decode_prefetch},
  };
  return table;
}

} // namespace ptxsim
