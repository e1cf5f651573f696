// The cells of tensor memory that the registers of a lane hold, in tcgen05.ld and tcgen05.st (PTX ISA,
// "Data movement shape").
#pragma once

#include <cstdint>

namespace ptxsim {

enum class MovementShape : uint8_t { Lanes32x32b, Lanes16x64b, Lanes16x128b, Lanes16x256b, Lanes16x32bx2 };

struct Cell {
  uint32_t lane, column; // relative to the address
};

/// Registers of one lane for repetition .x`repeat`.
constexpr uint32_t register_count(MovementShape shape, uint32_t repeat) {
  return shape == MovementShape::Lanes16x256b ? 4 * repeat : shape == MovementShape::Lanes16x128b ? 2 * repeat : repeat;
}

constexpr uint32_t shape_lanes(MovementShape shape) { return shape == MovementShape::Lanes32x32b ? 32 : 16; }

/// The cell of register `index` of lane `lane`. `half_split` is the column distance of the two halves of
/// .16x32bx2.
constexpr Cell cell_of(MovementShape shape, uint32_t lane, uint32_t index, uint32_t half_split) {
  switch (shape) {
  case MovementShape::Lanes32x32b:
    return {lane, index};
  case MovementShape::Lanes16x64b:
    return {(lane >> 2) + 8 * (lane & 1), (lane >> 1 & 1) + 2 * index};
  case MovementShape::Lanes16x128b:
    return {(lane >> 2) + 8 * (index & 1), (lane & 3) + 4 * (index >> 1)};
  case MovementShape::Lanes16x256b:
    return {(lane >> 2) + 8 * (index >> 1 & 1), (index & 1) + 2 * (lane & 3) + 8 * (index >> 2)};
  case MovementShape::Lanes16x32bx2:
    return {lane % 16, index + lane / 16 * half_split};
  }
  return {0, 0};
}

} // namespace ptxsim
