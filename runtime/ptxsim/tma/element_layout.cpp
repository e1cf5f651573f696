#include "tma/element_layout.h"

namespace ptxsim {
namespace {

std::string got(uint64_t value) { return ", got " + std::to_string(value); }

std::string of_element(const TensorMap &map) { return std::string(" with element type ") + element_name(map.element); }

bool has_padded_swizzle(const TensorMap &map) {
  const Swizzle mode = map.swizzle;
  return mode == Swizzle::None || mode == Swizzle::B128 || mode == Swizzle::B128Atom32 || mode == Swizzle::B128Atom64 ||
         (map.half_rows && mode == Swizzle::B64);
}

std::string padded_violation(const TensorMap &map) {
  const std::string rows = map.half_rows ? "64 or 128" : "128", step = std::to_string(padded_step(map));
  if (map.box[0] != padded_row && map.box[0] != padded_step(map))
    return "expected " +
           (map.kind == TensorMapKind::Tiled ? "an innermost box of " + rows + " elements"
                                             : rows + " channels per pixel") +
           of_element(map) + got(map.box[0]);
  if (map.extent[0] % padded_step(map))
    return "expected an extent 0 that is a multiple of " + step + of_element(map) + got(map.extent[0]);
  if (!has_padded_swizzle(map))
    return std::string("expected swizzle none, ") + (map.half_rows ? "64B, " : "") +
           "128B, 128B_atom_32B or 128B_atom_64B" + of_element(map) + ", got " + swizzle_name(map.swizzle);
  if (map.element == TensorElement::B6x16P32 && map.interleave != Interleave::None)
    return "expected no interleaved layout" + of_element(map);
  return "";
}

} // namespace

bool is_packed(TensorElement element) { return element_bits(element) < 8; }

bool is_padded(TensorElement element) {
  return element == TensorElement::B4x16P64 || element == TensorElement::B6x16P32;
}

uint32_t padded_step(const TensorMap &map) { return map.half_rows ? padded_row / 2 : padded_row; }

uint32_t global_alignment(const TensorMap &map) {
  return map.interleave == Interleave::B32 || (is_padded(map.element) && !map.half_rows) ? 32 : 16;
}

uint32_t global_bytes(TensorElement element, uint32_t count) { return count * element_bits(element) / 8; }

uint64_t global_offset(TensorElement element, int64_t index) {
  return static_cast<uint64_t>(index * static_cast<int64_t>(element_bits(element)) / 8);
}

uint32_t shared_bytes(TensorElement element, uint32_t count) {
  return is_padded(element) ? count : global_bytes(element, count);
}

std::string packed_violation(const TensorMap &map) {
  if (is_padded(map.element))
    return padded_violation(map);
  if (is_packed(map.element) && map.extent[0] % 2)
    return "expected an even extent 0" + of_element(map) + got(map.extent[0]);
  if (is_packed(map.element) && map.box[0] % 2)
    return "expected a box row of whole bytes" + of_element(map) + got(map.box[0]) + " elements";
  return "";
}

} // namespace ptxsim
