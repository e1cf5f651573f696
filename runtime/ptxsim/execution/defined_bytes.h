// The defined bytes of the results of instructions that move, select or mask bytes. If a source of any other
// instruction has undefined bytes, the whole result is undefined.
#pragma once

#include "execution/warp.h"

namespace ptxsim::defined_bytes {

/// d = a.
uint16_t copied(Warp &warp, const Instruction &in, const Operand &destination, uint32_t lane);
/// d = {a, b, ...}, the first in the lowest bytes.
uint16_t packed(Warp &warp, const Instruction &in, const Operand &destination, uint32_t lane);
/// {a, b, ...} = d.
uint16_t unpacked(Warp &warp, const Instruction &in, const Operand &destination, uint32_t lane);
/// d = p ? a : b.
uint16_t selected(Warp &warp, const Instruction &in, const Operand &destination, uint32_t lane);
/// d = a & b, byte by byte: a zero byte of a literal makes the byte of the result defined.
uint16_t conjunction(Warp &warp, const Instruction &in, const Operand &destination, uint32_t lane);
/// d = a | b and d = a ^ b, byte by byte.
uint16_t bytewise(Warp &warp, const Instruction &in, const Operand &destination, uint32_t lane);
/// d = a << b and d = a >> b, b a literal. A byte of d is defined if all bytes that contribute bits to it are.
uint16_t shifted_left(Warp &warp, const Instruction &in, const Operand &destination, uint32_t lane);
uint16_t shifted_right(Warp &warp, const Instruction &in, const Operand &destination, uint32_t lane);
/// prmt with a literal selector.
uint16_t permuted(Warp &warp, const Instruction &in, const Operand &destination, uint32_t lane);
/// An integer of `from_type` truncated or extended to `type`.
uint16_t resized(Warp &warp, const Instruction &in, const Operand &destination, uint32_t lane);
/// d = {a in the upper half, b in the lower half} of elements of whole bytes.
uint16_t halves(Warp &warp, const Instruction &in, const Operand &destination, uint32_t lane);

/// An operation on each of two elements of `type`, with sources of the same type.
uint16_t elements(Warp &warp, const Instruction &in, const Operand &destination, uint32_t lane);

} // namespace ptxsim::defined_bytes
