// The 128-byte tensor map that TMA instructions read, and the rules that it must satisfy.
#pragma once

#include "tma/swizzle.h"

#include <array>
#include <cstdint>
#include <string>

namespace ptxsim {

enum class TensorElement : uint8_t {
  U8,
  U16,
  U32,
  S32,
  U64,
  S64,
  F16,
  F32,
  F32Ftz,
  F64,
  BF16,
  B4x16,
  B4x16P64,
  B6x16P32,
  TF32,
  TF32Ftz
};

enum class Interleave : uint8_t { None, B16, B32 };

/// The function of the driver that encoded the map: cuTensorMapEncodeTiled, Im2col, and Im2colWide in mode W or W128.
enum class TensorMapKind : uint32_t { Tiled, Im2col, Im2colW, Im2colW128 };

constexpr uint32_t tensor_map_bytes = 128;
constexpr uint32_t tensor_map_alignment = 64;
constexpr uint32_t maximum_rank = 5;
constexpr uint32_t maximum_spatial_rank = 3;

/// A decoded tensor map. Index 0 is the innermost (contiguous) dimension.
struct TensorMap {
  TensorMapKind kind = TensorMapKind::Tiled;
  uint64_t address = 0;
  uint32_t rank = 1;
  uint32_t element_code = 0; ///< `element` as it is encoded, without the flag of tf32.
  TensorElement element = TensorElement::U8;
  Interleave interleave = Interleave::None;
  Swizzle swizzle = Swizzle::None;
  uint32_t swizzle_atomicity = 0; ///< The code of tensormap.replace. `swizzle` includes it.
  bool fill_nan = false;
  bool half_rows = false; ///< Not encoded: a store of .b6p2x16 on sm_103a, whose rows may have 64 elements.
  std::array<uint64_t, maximum_rank> extent{};
  std::array<uint64_t, maximum_rank> stride_bytes{}; ///< stride_bytes[0] is the size of an element.
  std::array<uint32_t, maximum_rank> box{}; ///< One pixel, {channels_per_pixel, 1, 1, 1, 1}, for the im2col kinds.
  std::array<uint32_t, maximum_rank> element_stride{};
  // Of the im2col kinds alone. Corners are in the order W, H, D.
  std::array<int32_t, maximum_spatial_rank> lower_corner{};
  std::array<int32_t, maximum_spatial_rank> upper_corner{};
  uint32_t channels_per_pixel = 0;
  uint32_t pixels_per_column = 0;
};

/// Bits of one element in global memory.
uint32_t element_bits(TensorElement element);
/// Bytes of one element; 0 for the packed sub-byte types.
uint32_t element_bytes(TensorElement element);
const char *element_name(TensorElement element);
bool is_float(TensorElement element);

/// "none", "16B" or "32B".
const char *interleave_name(Interleave interleave);

/// "tiled", "im2col", "im2col_w" or "im2col_w128".
const char *kind_name(TensorMapKind kind);

/// Reads the fields of tma/tensor_map_encoding.h and ignores all other bits, which are opaque.
TensorMap decode_tensor_map(const uint8_t *bytes);

/// The first rule of the CUDA driver API ("Tensor Map Object Management") that the map violates, as
/// "expected ..., got ..."; empty if the map is legal.
std::string tensor_map_violation(const TensorMap &map);

/// An undocumented feature that the map uses; empty if it uses none.
std::string tensor_map_unconfirmed(const TensorMap &map);

/// Elements that a tiled copy moves along a dimension: the box extent divided by the element stride, rounded up.
uint32_t tile_count(const TensorMap &map, uint32_t dimension);

} // namespace ptxsim
