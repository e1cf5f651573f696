// tcgen05.ld, tcgen05.st and their waits (PTX ISA 9.7.16.8), and the table of tensor memory.
//
// settings of an instruction: the enumerators of Setting, in order.
#include "execution/lanewise.h"
#include "program/opcode.h"
#include "tensor/fragments/in_flight_registers.h"
#include "tensor/tcgen05/tensor_allocation_opcodes.h"
#include "tensor/tcgen05/tensor_copy_opcodes.h"
#include "tensor/tcgen05/tensor_core.h"
#include "tensor/tcgen05/tensor_memory_shape.h"

#include <algorithm>
#include <utility>

namespace ptxsim {
namespace {

enum Setting : uint8_t { Shape, Repeat, Packed, HalfSplit };

/// A transfer between the registers of a warp and its lanes of tensor memory.
struct Movement {
  MovementShape shape;
  uint32_t registers;
  bool packed; ///< two 16-bit columns per register
  uint32_t half_split;
  TensorAddress at{0};

  /// The cell of register `index`; `part` is 0 or 1 if packed.
  Cell cell(uint32_t lane, uint32_t index, uint32_t part) const {
    Cell cell = cell_of(shape, lane, index, half_split);
    if (packed)
      cell.column = 2 * cell.column + part;
    return {at.lane + cell.lane, at.column + cell.column};
  }
};

const std::vector<Operand> &registers_of(const Instruction &in, size_t index) { return in.operands[index].elements; }

/// A warp can access 32 lanes, selected by warp % 4. Lanes 0 to 31 are relative to them.
uint32_t absolute_lane(Warp &warp, uint32_t lane, MovementShape shape) {
  const uint32_t own = warp.index % 4 * TensorMemory::lanes_per_warp;
  const uint32_t within = lane % TensorMemory::lanes_per_warp;
  if (lane != within && lane != own + within)
    warp.trap(trap_kind::tensor_memory, "expected lanes " + std::to_string(own) + " to " + std::to_string(own + 31) +
                                            " in warp " + std::to_string(warp.index) + ", got lane " +
                                            std::to_string(lane));
  if (within % shape_lanes(shape))
    warp.trap(trap_kind::tensor_memory, "expected an address at a multiple of " + std::to_string(shape_lanes(shape)) +
                                            " lanes, got lane " + std::to_string(lane));
  return own + within;
}

Movement movement_of(Warp &warp, const Instruction &in, size_t address_operand) {
  Movement movement{static_cast<MovementShape>(in.settings[Shape]), 0, in.settings[Packed] != 0,
                    static_cast<uint32_t>(in.settings[HalfSplit])};
  movement.registers = register_count(movement.shape, in.settings[Repeat]);
  movement.at = TensorAddress(static_cast<uint32_t>(warp.uniform_address(in.operands[address_operand])));
  movement.at.lane = absolute_lane(warp, movement.at.lane, movement.shape);
  return movement;
}

/// The cells that a movement accesses: one region, or two for 16x32bx2.
std::vector<TensorRegion> regions_of(const Movement &movement) {
  uint32_t columns = 0;
  const bool halves = movement.shape == MovementShape::Lanes16x32bx2;
  for (uint32_t lane = 0; lane < (halves ? 16 : lane_count); ++lane)
    for (uint32_t index = 0; index < movement.registers; ++index)
      columns = std::max(columns, cell_of(movement.shape, lane, index, movement.half_split).column + 1);
  const uint32_t width = movement.packed ? 2 : 1;
  // A register may hold undefined bytes.
  const TensorRegion first{movement.at.lane, shape_lanes(movement.shape), movement.at.column, columns * width, 0};
  if (!halves || movement.half_split == 0)
    return {first};
  TensorRegion second = first;
  second.column += movement.half_split * width;
  return {first, second};
}

void check_movement(Warp &warp, const Movement &movement, bool write, const Actor &actor) {
  for (const TensorRegion &region : regions_of(movement))
    check_region(warp, warp.cta, region, write, actor, warp.first_lane());
}

uint32_t load_register(TensorMemory &memory, const Movement &movement, uint32_t lane, uint32_t index) {
  const Cell low = movement.cell(lane, index, 0);
  if (!movement.packed)
    return memory.lane(low.lane)[low.column];
  const Cell high = movement.cell(lane, index, 1);
  return (memory.lane(low.lane)[low.column] & 0xffff) | memory.lane(high.lane)[high.column] << 16;
}

void store_register(TensorMemory &memory, const Movement &movement, uint32_t lane, uint32_t index, uint32_t value) {
  for (uint32_t part = 0; part < (movement.packed ? 2 : 1); ++part) {
    const Cell cell = movement.cell(lane, index, part);
    uint32_t &to = memory.lane(cell.lane)[cell.column];
    to = movement.packed ? (to & 0xffff0000) | (value >> 16 * part & 0xffff) : value;
  }
}

/// The undefined bytes of the cells of a register.
uint32_t undefined_register_bytes(const TensorMemory &memory, const Movement &movement, uint32_t lane, uint32_t index) {
  const Cell low = movement.cell(lane, index, 0);
  if (!movement.packed)
    return memory.undefined_bytes(low.lane, low.column);
  const Cell high = movement.cell(lane, index, 1);
  return (memory.undefined_bytes(low.lane, low.column) & 3) | (memory.undefined_bytes(high.lane, high.column) & 3) << 2;
}

/// Reads of the registers are ordered after the load without tcgen05.wait::ld; writes of the registers or of the cells
/// are not (PTX ISA 9.7.16.6.4.5). So the registers are written at once, and the operation completes late. With the
/// option `tensor_load_waits` reads need the wait too.
Outcome load(Warp &warp, const Instruction &in) {
  const Movement movement = movement_of(warp, in, 1);
  AsyncQueue &queue = warp.queue(QueueKind::TensorLoad);
  const Epoch position = queue.issue(warp.clock.known);
  check_movement(warp, movement, false, warp.tensor_actor(queue, position));
  for (uint32_t index = 0; index < movement.registers; ++index) {
    const Operand &to = registers_of(in, 0)[index];
    for_each_lane(warp.mask, [&](uint32_t lane) {
      warp.lanes<uint32_t>(to)[lane] = load_register(*warp.cta.tensor_memory, movement, lane, index);
    });
    warp.wrote(to);
    if (warp.cta.tensor_memory->has_undefined_bytes())
      for_each_lane(warp.mask, [&](uint32_t lane) {
        const uint32_t undefined = undefined_register_bytes(*warp.cta.tensor_memory, movement, lane, index);
        if (undefined)
          warp.set_defined_bytes(to, lane, uint16_t(~undefined & 0xF));
      });
    mark_register_in_flight(warp, queue, position, to, warp.machine.options.tensor_load_waits, "tcgen05.wait::ld",
                            /*is_complete=*/true);
  }
  submit_in_order(warp, warp.first_lane(), queue, position, [] {});
  return Outcome::Next;
}

/// Records the undefined bytes of the registers that are stored.
void record_undefined(Warp &warp, const Instruction &in, const Movement &movement) {
  for (uint32_t index = 0; index < movement.registers; ++index) {
    const Operand &from = registers_of(in, 1)[index];
    for_each_lane(warp.mask & ~warp.written_lanes(from), [&](uint32_t lane) {
      const uint32_t undefined = ~uint32_t(warp.defined_bytes(from, lane)) & 0xF;
      for (uint32_t part = 0; part < (movement.packed ? 2 : 1); ++part) {
        const Cell cell = movement.cell(lane, index, part);
        warp.cta.tensor_memory->set_undefined_bytes(cell.lane, cell.column,
                                                    movement.packed ? undefined >> 2 * part & 3 : undefined);
      }
    });
  }
}

/// Undefined registers leave the cells undefined. PTX ISA 9.7.16.8.4: the registers are read asynchronously.
Outcome store(Warp &warp, const Instruction &in) {
  const Movement movement = movement_of(warp, in, 0);
  std::vector<uint32_t> values;
  for (const Operand &from : registers_of(in, 1)) {
    values.insert(values.end(), warp.lanes<uint32_t>(from), warp.lanes<uint32_t>(from) + lane_count);
  }
  AsyncQueue &queue = warp.queue(QueueKind::TensorStore);
  const Epoch position = queue.issue(warp.clock.known);
  check_movement(warp, movement, true, warp.tensor_actor(queue, position));
  if (warp.machine.options.checks)
    record_undefined(warp, in, movement);
  for (const Operand &from : registers_of(in, 1))
    mark_register_in_flight(warp, queue, position, from, false, "tcgen05.wait::st");
  TensorMemory *const memory = warp.cta.tensor_memory.get();
  const uint32_t mask = warp.mask;
  submit_in_order(warp, warp.first_lane(), queue, position, [=, values = std::move(values)] {
    for (uint32_t index = 0; index < movement.registers; ++index)
      for_each_lane(mask, [&](uint32_t lane) {
        store_register(*memory, movement, lane, index, values[size_t{index} * lane_count + lane]);
      });
  });
  return Outcome::Next;
}

/// Earlier loads (or stores) of the warp are complete, and ordered before its next accesses.
Outcome wait_for(Warp &warp, QueueKind kind) {
  AsyncQueue *queue = warp.find_queue(kind, 0);
  if (!queue)
    return Outcome::Next;
  if (!queue->finished(queue->issued))
    return Outcome::Wait;
  warp.clock.tensor_ordered.raise(queue->agent, queue->issued);
  warp.clock.known.happened.raise(queue->agent, queue->issued);
  clear_registers_in_flight(warp, *queue, queue->issued);
  return Outcome::Next;
}

Outcome wait_loads(Warp &warp, const Instruction &) { return wait_for(warp, QueueKind::TensorLoad); }
Outcome wait_stores(Warp &warp, const Instruction &) { return wait_for(warp, QueueKind::TensorStore); }

void decode_shape(Decoder &decoder, const char *packing) {
  Instruction &in = decoder.instruction;
  decoder.expect_sync_aligned();
  in.settings[Shape] = decoder.take_one_of({"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"});
  if (in.settings[Shape] < 0)
    decoder.malformed("expected a shape of tcgen05.ld and tcgen05.st");
  const int repeat = decoder.take_one_of({"x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128"});
  if (repeat < 0 || register_count(static_cast<MovementShape>(in.settings[Shape]), 1u << repeat) > 128)
    decoder.malformed("expected a repeat modifier with at most 128 registers");
  in.settings[Repeat] = 1 << repeat;
  in.settings[Packed] = decoder.take(packing);
  decoder.expect_modifiers({"b32"});
}

uint32_t decoded_registers(const Instruction &in) {
  return register_count(static_cast<MovementShape>(in.settings[Shape]), in.settings[Repeat]);
}

void decode_half_split(Decoder &decoder, size_t index) {
  Instruction &in = decoder.instruction;
  const bool halves = in.settings[Shape] == static_cast<int32_t>(MovementShape::Lanes16x32bx2);
  in.settings[HalfSplit] = halves ? static_cast<int32_t>(decoder.immediate(index)) : 0;
}

bool has_half_split(const Instruction &in) {
  return in.settings[Shape] == static_cast<int32_t>(MovementShape::Lanes16x32bx2);
}

Execute decode_load(Decoder &decoder) {
  decode_shape(decoder, "pack::16b");
  Instruction &in = decoder.instruction;
  decoder.expect_operands(has_half_split(in) ? 3 : 2, has_half_split(in) ? 3 : 2);
  decoder.vector(0, Type::B32, decoded_registers(in), false);
  decoder.address(1);
  decode_half_split(decoder, 2);
  return load;
}

Execute decode_store(Decoder &decoder) {
  decode_shape(decoder, "unpack::16b");
  Instruction &in = decoder.instruction;
  const size_t source = has_half_split(in) ? 2 : 1;
  decoder.expect_operands(source + 1, source + 1);
  decoder.address(0);
  decode_half_split(decoder, 1);
  if (source == 2)
    in.operands.erase(in.operands.begin() + 1);
  decoder.vector(1, Type::B32, decoded_registers(in), true);
  return store;
}

template <Execute Function> Execute decode_wait(Decoder &decoder) {
  decoder.expect_sync_aligned();
  return decode_without_operands<Function>(decoder);
}

} // namespace

const OpcodeTable &tensor_memory_opcodes() {
  static const OpcodeTable table = {
      {"tcgen05.alloc", OpcodeGroup::Tensor, decode_tensor_alloc, Targets::Tcgen05},
      {"tcgen05.dealloc", OpcodeGroup::Tensor, decode_tensor_dealloc, Targets::Tcgen05},
      {"tcgen05.relinquish_alloc_permit", OpcodeGroup::Tensor, decode_tensor_relinquish, Targets::Tcgen05},
      {"tcgen05.ld", OpcodeGroup::Tensor, decode_load, Targets::Tcgen05},
      {"tcgen05.st", OpcodeGroup::Tensor, decode_store, Targets::Tcgen05},
      {"tcgen05.wait::ld", OpcodeGroup::Tensor, decode_wait<wait_loads>, Targets::Tcgen05},
      {"tcgen05.wait::st", OpcodeGroup::Tensor, decode_wait<wait_stores>, Targets::Tcgen05},
      {"tcgen05.cp", OpcodeGroup::Tensor, decode_tensor_cp, Targets::Tcgen05},
      {"tcgen05.shift", OpcodeGroup::Tensor, decode_tensor_shift, Targets::Tcgen05},
  };
  return table;
}

} // namespace ptxsim
