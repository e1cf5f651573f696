// ldmatrix and stmatrix of 8x8 matrices of 16-bit elements (PTX ISA 9.7.14.5.15, 9.7.14.5.16), and movmatrix.
//
// settings of an instruction: the enumerators of Setting, in order.
#include "execution/machine.h"
#include "program/decoder.h"
#include "program/opcode.h"

#include <array>

namespace ptxsim {
namespace {

enum Setting : uint8_t { Count, Transposed };

constexpr uint32_t matrix_side = 8; // rows and columns
constexpr uint32_t row_bytes = 16;  // of one row in shared memory

using Matrix = std::array<std::array<uint16_t, matrix_side>, matrix_side>;

/// Row and column of an element.
struct Position {
  uint32_t row, column;
};

/// The position of element `part`, 0 or 1, of the register of a lane.
Position position_of(uint32_t lane, uint32_t part, bool transposed) {
  const uint32_t major = lane / 4, minor = 2 * (lane % 4) + part;
  return transposed ? Position{minor, major} : Position{major, minor};
}

/// The row that lane 8 * matrix + row addresses.
MemoryLocation locate_row(Warp &warp, const Operand &address, uint32_t lane, bool write) {
  return warp.locate(Space::SharedCta, warp.defined_address(address, lane), row_bytes, row_bytes, lane, write);
}

/// Loads the row of a lane. Returns its undefined bytes.
uint32_t load_row(Warp &warp, const Operand &address, uint32_t lane, void *to) {
  const MemoryLocation location = locate_row(warp, address, lane, false);
  bool met_undefined = false;
  Actor actor = warp.actor();
  actor.met_undefined = &met_undefined;
  warp.check_shared_read(*location.cta, location.offset, row_bytes, actor, lane);
  std::memcpy(to, location.bytes, row_bytes);
  if (!met_undefined)
    return 0;
  warp.loaded_undefined(*location.cta, location.offset, row_bytes);
  return location.cta->shadow.undefined_bytes(location.offset, row_bytes);
}

/// Stores the row of a lane. Concurrent stores of the same value do not conflict.
void store_row(Warp &warp, const Operand &address, uint32_t lane, const void *from) {
  const MemoryLocation location = locate_row(warp, address, lane, true);
  std::array<uint8_t, row_bytes> before;
  std::memcpy(before.data(), location.bytes, row_bytes);
  std::memcpy(location.bytes, from, row_bytes);
  Actor actor = warp.actor();
  if (!warp.machine.options.same_value_races)
    actor.before = before.data();
  actor.after = location.bytes;
  actor.first_byte = location.offset;
  warp.machine.changed();
  warp.check_shared_write(*location.cta, location.offset, row_bytes, actor, lane);
}

Outcome load(Warp &warp, const Instruction &in) {
  std::array<std::array<uint16_t, lane_count>, 4> defined; // bytes, by register and lane
  bool all_defined = true;
  for (int32_t index = 0; index < in.settings[Count]; ++index) {
    Matrix matrix;
    std::array<uint32_t, matrix_side> undefined; // bytes of each row
    uint32_t any_undefined = 0;
    for (uint32_t row = 0; row < matrix_side; ++row)
      any_undefined |= undefined[row] = load_row(warp, in.operands[1], index * matrix_side + row, matrix[row].data());
    const Operand &to = in.operands[0].elements[index];
    for (uint32_t lane = 0; lane < lane_count; ++lane) {
      const Position low = position_of(lane, 0, in.settings[Transposed]),
                     high = position_of(lane, 1, in.settings[Transposed]);
      warp.lanes<uint32_t>(to)[lane] = matrix[low.row][low.column] | matrix[high.row][high.column] << 16;
      const uint32_t bytes = (undefined[low.row] >> 2 * low.column & 3) | (undefined[high.row] >> 2 * high.column & 3)
                                                                              << 2;
      defined[index][lane] = uint16_t(~bytes & 0xF);
    }
    all_defined &= !any_undefined;
  }
  for (int32_t index = 0; index < in.settings[Count]; ++index) {
    const Operand &to = in.operands[0].elements[index];
    warp.wrote(to);
    for (uint32_t lane = 0; !all_defined && lane < lane_count; ++lane)
      warp.set_defined_bytes(to, lane, defined[index][lane]);
  }
  return Outcome::Next;
}

Outcome store(Warp &warp, const Instruction &in) {
  for (int32_t index = 0; index < in.settings[Count]; ++index) {
    const Operand &from = in.operands[1].elements[index];
    warp.require(from);
    Matrix matrix;
    for (uint32_t lane = 0; lane < lane_count; ++lane)
      for (uint32_t part = 0; part < 2; ++part) {
        const Position position = position_of(lane, part, in.settings[Transposed]);
        matrix[position.row][position.column] = static_cast<uint16_t>(warp.lanes<uint32_t>(from)[lane] >> 16 * part);
      }
    for (uint32_t row = 0; row < matrix_side; ++row)
      store_row(warp, in.operands[0], index * matrix_side + row, matrix[row].data());
  }
  return Outcome::Next;
}

Outcome move(Warp &warp, const Instruction &in) {
  warp.require(in.operands[1]);
  Matrix matrix;
  const uint32_t *from = warp.lanes<uint32_t>(in.operands[1]);
  for (uint32_t lane = 0; lane < lane_count; ++lane)
    for (uint32_t part = 0; part < 2; ++part)
      matrix[lane / 4][2 * (lane % 4) + part] = static_cast<uint16_t>(from[lane] >> 16 * part);
  for (uint32_t lane = 0; lane < lane_count; ++lane) {
    const Position low = position_of(lane, 0, true), high = position_of(lane, 1, true);
    warp.lanes<uint32_t>(in.operands[0])[lane] = matrix[low.row][low.column] | matrix[high.row][high.column] << 16;
  }
  warp.wrote(in.operands[0]);
  return Outcome::Next;
}

void decode_shape(Decoder &decoder) {
  decoder.expect_sync_aligned();
  if (!decoder.take("m8n8"))
    decoder.unsupported("a matrix shape other than .m8n8");
  const int count = decoder.take_one_of({"x1", "x2", "x4"});
  if (count < 0)
    decoder.malformed("expected .x1, .x2 or .x4");
  decoder.instruction.settings[Count] = 1 << count;
  decoder.instruction.settings[Transposed] = decoder.take("trans");
  if (!decoder.take("shared::cta"))
    decoder.take("shared");
  decoder.expect_modifiers({"b16"});
  decoder.expect_operands(2, 2);
}

Execute decode_load(Decoder &decoder) {
  decode_shape(decoder);
  decoder.vector(0, Type::B32, decoder.instruction.settings[Count], false);
  decoder.address(1);
  return load;
}

Execute decode_store(Decoder &decoder) {
  decode_shape(decoder);
  decoder.address(0);
  decoder.vector(1, Type::B32, decoder.instruction.settings[Count], true);
  return store;
}

Execute decode_move(Decoder &decoder) {
  decoder.expect_sync_aligned();
  decoder.expect_modifiers({"m8n8", "trans", "b16"});
  decoder.expect_operands(2, 2);
  decoder.destination(0, Type::B32);
  decoder.source(1, Type::B32);
  return move;
}

} // namespace

const OpcodeTable &matrix_opcodes() {
  static const OpcodeTable table = {
      {"ldmatrix", OpcodeGroup::Tensor, decode_load},
      {"stmatrix", OpcodeGroup::Tensor, decode_store},
      {"movmatrix", OpcodeGroup::Tensor, decode_move},
  };
  return table;
}

} // namespace ptxsim
