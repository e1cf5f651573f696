#include "tma/copy_rules.h"

#include "tma/element_conversion.h"
#include "tma/element_layout.h"

namespace ptxsim {
namespace {

bool starts_with(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

bool has_wide_atoms(Swizzle mode) {
  return mode == Swizzle::B128Atom32 || mode == Swizzle::B128Atom32Flip8 || mode == Swizzle::B128Atom64;
}

} // namespace

bool permits_half_rows(const TensorMap &map, std::string_view target) {
  return map.element == TensorElement::B6x16P32 && target == "sm_103a";
}

std::string target_violation(const TensorMap &map, std::string_view target) {
  const std::string on = ", got target " + std::string(target);
  if (map.swizzle == Swizzle::B96 && target != "sm_103a")
    return "expected target sm_103a for swizzle 96B" + on;
  if (!starts_with(target, "sm_90"))
    return "";
  if (is_packed(map.element))
    return std::string("expected target sm_100 or later for element type ") + element_name(map.element) + on;
  if (has_wide_atoms(map.swizzle))
    return std::string("expected target sm_100 or later for swizzle ") + swizzle_name(map.swizzle) + on;
  return "";
}

/// Where copies without interleave, of elements of whole bytes, begin. H200 reports an illegal instruction elsewhere
/// (benchmarks/hopper/bounds.py); no manual says so.
constexpr int64_t first_granule_bytes = 16;

std::string coordinate_violation(const TensorMap &map, const Coordinates &coordinates) {
  const int64_t step = is_padded(map.element) ? padded_step(map) : is_packed(map.element) ? 2 : 1;
  if (coordinates[0] % step)
    return "expected a coordinate 0 that is a multiple of " + std::to_string(step) + " with element type " +
           element_name(map.element) + ", got " + std::to_string(coordinates[0]);
  const int64_t offset_bytes = coordinates[0] * element_bits(map.element) / 8;
  if (map.interleave == Interleave::None && !is_packed(map.element) && offset_bytes % first_granule_bytes)
    return "expected a coordinate 0 at a multiple of 16 bytes (measured on H200), got " + std::to_string(offset_bytes);
  return "";
}

std::string store_map_violation(const TensorMap &map) {
  if (map.element == TensorElement::B4x16P64)
    return "expected an element type that stores support, got b4x16_p64";
  if (map.swizzle == Swizzle::B128Atom32Flip8)
    return "expected a swizzle that stores support, got 128B_atom_32B_flip_8B";
  return "";
}

std::string load_unconfirmed(const TensorMap &map) {
  if (map.fill_nan)
    return "the bit pattern of the NaN fill";
  if (map.element == TensorElement::F32Ftz || map.element == TensorElement::TF32Ftz)
    return std::string("the conversion of values by a load through a tensor map of element type ") +
           element_name(map.element);
  return "";
}

std::string store_unconfirmed(const TensorMap &map) {
  if (!load_conversion(map.element))
    return "";
  return std::string("the conversion of values by a store through a tensor map of element type ") +
         element_name(map.element);
}

std::string coordinate_unconfirmed(const TensorMap &map, const Coordinates &coordinates) {
  if (map.element == TensorElement::B4x16 && coordinates[0] % packed_container)
    return "a copy of b4x16 that begins within a container of sixteen elements, at coordinate " +
           std::to_string(coordinates[0]);
  return "";
}

} // namespace ptxsim
