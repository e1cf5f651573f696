#include "execution/defined_bytes.h"

namespace ptxsim::defined_bytes {

static uint16_t low_bytes(uint32_t count) { return uint16_t((1u << count) - 1); }

uint16_t copied(Warp &warp, const Instruction &in, const Operand &, uint32_t lane) {
  return warp.defined_bytes(in.operands[1], lane);
}

uint16_t packed(Warp &warp, const Instruction &in, const Operand &, uint32_t lane) {
  uint32_t result = 0, at = 0;
  for (const Operand &part : in.operands[1].elements) {
    result |= uint32_t(warp.defined_bytes(part, lane)) << at;
    at += part.size;
  }
  return uint16_t(result);
}

uint16_t unpacked(Warp &warp, const Instruction &in, const Operand &destination, uint32_t lane) {
  uint32_t at = 0;
  for (const Operand &part : in.operands[0].elements) {
    if (&part == &destination)
      break;
    at += part.size;
  }
  return uint16_t(warp.defined_bytes(in.operands[1], lane) >> at) & low_bytes(destination.size);
}

uint16_t selected(Warp &warp, const Instruction &in, const Operand &, uint32_t lane) {
  const Operand &p = in.operands[3];
  if (!(warp.written_lanes(p) >> lane & 1))
    return 0;
  return warp.defined_bytes(in.operands[warp.predicate(p) >> lane & 1 ? 1 : 2], lane);
}

/// The bytes of a literal that are zero.
static uint16_t zero_bytes(const Operand &operand) {
  uint16_t result = 0;
  for (uint32_t byte = 0; operand.constant && byte < operand.size; ++byte)
    result |= uint16_t((operand.value >> 8 * byte & 0xFF) == 0) << byte;
  return result;
}

uint16_t conjunction(Warp &warp, const Instruction &in, const Operand &destination, uint32_t lane) {
  return bytewise(warp, in, destination, lane) | zero_bytes(in.operands[1]) | zero_bytes(in.operands[2]);
}

uint16_t bytewise(Warp &warp, const Instruction &in, const Operand &, uint32_t lane) {
  return warp.defined_bytes(in.operands[1], lane) & warp.defined_bytes(in.operands[2], lane);
}

uint16_t shifted_left(Warp &warp, const Instruction &in, const Operand &destination, uint32_t lane) {
  const Operand &count = in.operands[2];
  if (!count.constant)
    return 0;
  if (count.value >= destination.size * 8u)
    return low_bytes(destination.size);
  uint32_t defined = warp.defined_bytes(in.operands[1], lane), bytes = uint32_t(count.value / 8);
  uint32_t result = defined << bytes | low_bytes(bytes);
  // A byte of the result takes bits of two bytes of the source.
  if (count.value % 8)
    result &= defined << (bytes + 1) | low_bytes(bytes + 1);
  return uint16_t(result) & low_bytes(destination.size);
}

uint16_t shifted_right(Warp &warp, const Instruction &in, const Operand &destination, uint32_t lane) {
  const Operand &count = in.operands[2];
  if (!count.constant || is_signed(in.type))
    return 0;
  const uint32_t size = destination.size;
  if (count.value >= size * 8u)
    return low_bytes(size);
  // Zeros are shifted into the upper bytes.
  const uint32_t defined = warp.defined_bytes(in.operands[1], lane) | ~uint32_t(low_bytes(size));
  const uint32_t bytes = uint32_t(count.value / 8);
  uint32_t result = defined >> bytes;
  if (count.value % 8)
    result &= defined >> (bytes + 1);
  return uint16_t(result) & low_bytes(size);
}

uint16_t permuted(Warp &warp, const Instruction &in, const Operand &, uint32_t lane) {
  const Operand &selector = in.operands[3];
  if (!selector.constant)
    return 0;
  const uint32_t both = warp.defined_bytes(in.operands[1], lane) | warp.defined_bytes(in.operands[2], lane) << 4;
  uint16_t result = 0;
  for (uint32_t byte = 0; byte < 4; ++byte)
    result |= uint16_t((both >> (selector.value >> 4 * byte & 7) & 1) << byte);
  return result;
}

uint16_t resized(Warp &warp, const Instruction &in, const Operand &destination, uint32_t lane) {
  const uint32_t size = type_size(in.from_type);
  const uint16_t defined = warp.defined_bytes(in.operands[1], lane) & low_bytes(size);
  const bool sign_defined = defined >> (size - 1) & 1;
  const bool extension_defined = !is_signed(in.from_type) || sign_defined;
  const uint16_t above = uint16_t(~low_bytes(size));
  return uint16_t(extension_defined ? defined | above : defined) & low_bytes(destination.size);
}

uint16_t halves(Warp &warp, const Instruction &in, const Operand &destination, uint32_t lane) {
  const uint32_t half = type_size(in.type) / 2;
  uint16_t result = 0;
  if (warp.written_lanes(in.operands[1]) >> lane & 1)
    result |= uint16_t(low_bytes(half) << half);
  if (warp.written_lanes(in.operands[2]) >> lane & 1)
    result |= low_bytes(half);
  return result | uint16_t(low_bytes(destination.size) & ~low_bytes(2 * half));
}

uint16_t elements(Warp &warp, const Instruction &in, const Operand &destination, uint32_t lane) {
  const uint32_t low = low_bytes(destination.size / 2), high = low << destination.size / 2;
  uint32_t defined = low | high;
  for (size_t i = 1; i < in.operands.size(); ++i) {
    const uint32_t source = warp.defined_bytes(in.operands[i], lane);
    for (uint32_t element : {low, high})
      if ((source & element) != element)
        defined &= ~element;
  }
  return uint16_t(defined);
}

} // namespace ptxsim::defined_bytes
