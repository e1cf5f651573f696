#include "tma/tensor_map/layout_rules.h"

#include "tma/element_layout.h"

namespace ptxsim {
namespace {

constexpr const char *atomicity_names[] = {"16B", "32B", "32B_flip_8B", "64B"};

std::string with_interleave(const TensorMap &map) {
  return std::string(" with interleave ") + interleave_name(map.interleave);
}

/// Bytes of channels that are contiguous in an interleaved tensor.
uint32_t slice_bytes(Interleave interleave) { return interleave == Interleave::B16 ? 16 : 32; }

std::string interleave_violation(const TensorMap &map) {
  if (map.rank < 3)
    return "expected rank 3 to 5 with an interleaved layout, got " + std::to_string(map.rank);
  if (map.interleave == Interleave::B32 && map.swizzle != Swizzle::B32)
    return std::string("expected swizzle 32B with interleave 32B, got ") + swizzle_name(map.swizzle);
  if (map.swizzle == Swizzle::B96)
    return "expected no interleaved layout with swizzle 96B";
  if (is_packed(map.element) && map.element_stride[0] > 1)
    return std::string("expected element stride 1 in dimension 0 with element type ") + element_name(map.element) +
           ", whose elements share bytes, got " + std::to_string(map.element_stride[0]);
  return "";
}

/// PTX ISA, Table 14. Without swizzle the atomicity has no effect.
bool has_valid_atomicity(const TensorMap &map) {
  return map.swizzle_atomicity == 0 || map.swizzle == Swizzle::None || swizzle_span(map.swizzle) == 128;
}

std::string interleave_unconfirmed(const TensorMap &map) {
  const uint32_t slice = slice_bytes(map.interleave), row = shared_bytes(map.element, tile_count(map, 0));
  const std::string slices = with_interleave(map) + ", whose slices have " + std::to_string(slice) + " bytes";
  if (map.interleave == Interleave::B16 && map.swizzle != Swizzle::None)
    return std::string("swizzle ") + swizzle_name(map.swizzle) + with_interleave(map);
  if (map.extent[0] * element_bits(map.element) > slice * 8)
    return "an extent 0 of " + std::to_string(map.extent[0]) + " elements" + slices;
  if (row != slice)
    return "the shared-memory pitch of a box row of " + std::to_string(row) + " bytes" + slices;
  return "";
}

std::string swizzle_unconfirmed(const TensorMap &map) {
  if (map.swizzle == Swizzle::B96 || map.swizzle == Swizzle::B128Atom32Flip8)
    return std::string("the shared-memory image of swizzle ") + swizzle_name(map.swizzle);
  const uint32_t row = shared_bytes(map.element, map.box[0]);
  if (row < swizzle_span(map.swizzle))
    return "the shared-memory pitch of a box row of " + std::to_string(row) + " bytes with swizzle " +
           swizzle_name(map.swizzle);
  return "";
}

} // namespace

std::string layout_violation(const TensorMap &map) {
  if (!has_valid_atomicity(map))
    return std::string("expected swizzle atomicity 16B with swizzle ") + swizzle_name(map.swizzle) + ", got " +
           atomicity_names[map.swizzle_atomicity];
  return map.interleave == Interleave::None ? "" : interleave_violation(map);
}

std::string layout_unconfirmed(const TensorMap &map) {
  return map.interleave == Interleave::None ? swizzle_unconfirmed(map) : interleave_unconfirmed(map);
}

} // namespace ptxsim
