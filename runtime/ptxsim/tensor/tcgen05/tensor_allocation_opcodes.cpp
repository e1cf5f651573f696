// tcgen05.alloc, tcgen05.dealloc and tcgen05.relinquish_alloc_permit (PTX ISA 9.7.16.7).
#include "tensor/tcgen05/tensor_allocation_opcodes.h"

#include "tensor/tcgen05/tensor_core.h"

namespace ptxsim {
namespace {

void trap_if_error(Warp &warp, const std::string &wrong) {
  if (!wrong.empty())
    warp.trap(trap_kind::tensor_memory, wrong);
}

/// Waits until enough columns are free. Odd seeds allocate from the top, since the order is not documented.
Outcome allocate(Warp &warp, const Instruction &in) {
  TensorMemory &memory = *warp.cta.tensor_memory;
  const auto count = warp.uniform<uint32_t>(in.operands[1]);
  trap_if_error(warp, memory.allocation_error(count));
  const uint32_t lane = warp.first_lane();
  const MemoryLocation location = warp.locate_shared(warp.uniform_address(in.operands[0]), 4, 4, lane);
  const auto base = memory.allocate(count, warp.machine.options.seed & 1, in.line);
  if (!base)
    return Outcome::Wait;
  Actor actor = warp.actor();
  // The proxy of this write is not documented. Triton reuses these bytes for TMA without a fence.
  actor.asynchronous = warp.machine.options.allow_unconfirmed;
  warp.check_shared_write(*location.cta, location.offset, 4, actor, lane);
  store_value<uint32_t>(location.bytes, *base);
  warp.machine.changed();
  return Outcome::Next;
}

/// Traps unless every access to the columns is ordered before the deallocation.
void check_unused(Warp &warp, uint32_t base, uint32_t count) {
  VectorClock known = warp.clock.known.happened;
  known.join(warp.clock.tensor_ordered);
  Actor actor = warp.actor();
  actor.happened = &known;
  check_region(warp, warp.cta, {0, TensorMemory::lanes, base, count}, true, actor, warp.first_lane());
}

Outcome deallocate(Warp &warp, const Instruction &in) {
  TensorMemory &memory = *warp.cta.tensor_memory;
  const auto address = warp.uniform<uint32_t>(in.operands[0]);
  const auto count = warp.uniform<uint32_t>(in.operands[1]);
  if (memory.access_error(address & 0xffff, count).empty())
    check_unused(warp, address & 0xffff, count);
  trap_if_error(warp, memory.deallocate(address, count));
  ++warp.cluster.progress;
  warp.machine.changed();
  return Outcome::Next;
}

Outcome relinquish(Warp &warp, const Instruction &) {
  trap_if_error(warp, warp.cta.tensor_memory->relinquish());
  return Outcome::Next;
}

void decode_collective(Decoder &decoder) {
  take_cta_group(decoder);
  decoder.expect_sync_aligned();
}

} // namespace

Execute decode_tensor_alloc(Decoder &decoder) {
  decode_collective(decoder);
  decoder.take("shared::cta");
  decoder.expect_modifiers({"b32"});
  decoder.expect_operands(2, 2);
  decoder.address(0);
  decoder.source(1, Type::B32);
  return allocate;
}

Execute decode_tensor_dealloc(Decoder &decoder) {
  decode_collective(decoder);
  decoder.expect_modifiers({"b32"});
  decoder.expect_operands(2, 2);
  decoder.source(0, Type::B32);
  decoder.source(1, Type::B32);
  return deallocate;
}

Execute decode_tensor_relinquish(Decoder &decoder) {
  decode_collective(decoder);
  decoder.expect_operands(0, 0);
  return relinquish;
}

} // namespace ptxsim
