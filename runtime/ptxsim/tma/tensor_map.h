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

constexpr uint32_t tensor_map_bytes = 128;
constexpr uint32_t tensor_map_alignment = 64;
constexpr uint32_t maximum_rank = 5;

/// A decoded tensor map. Index 0 is the innermost (contiguous) dimension.
struct TensorMap {
  uint64_t address = 0;
  uint32_t rank = 1;
  TensorElement element = TensorElement::U8;
  Interleave interleave = Interleave::None;
  Swizzle swizzle = Swizzle::None;
  bool fill_nan = false;
  std::array<uint64_t, maximum_rank> extent{};
  std::array<uint64_t, maximum_rank> stride_bytes{}; ///< stride_bytes[0] is the size of an element.
  std::array<uint32_t, maximum_rank> box{};
  std::array<uint32_t, maximum_rank> element_stride{};
};

/// Bytes of one element; 0 for the packed sub-byte types.
uint32_t element_bytes(TensorElement element);
const char *element_name(TensorElement element);
bool is_float(TensorElement element);

/// Reads the fields that tensormap.replace can write and ignores all other bits, which are opaque.
TensorMap decode_tensor_map(const uint8_t *bytes);

/// The first rule of the CUDA driver API ("Tensor Map Object Management") that the map violates, as
/// "expected ..., got ..."; empty if the map is legal.
std::string tensor_map_violation(const TensorMap &map);

/// An undocumented feature that the map uses; empty if it uses none.
std::string tensor_map_unconfirmed(const TensorMap &map);

/// Elements that a tiled copy moves along a dimension: the box extent divided by the element stride, rounded up.
uint32_t tile_count(const TensorMap &map, uint32_t dimension);

/// Bytes that a tiled copy moves in shared memory and reports to its mbarrier.
uint32_t tile_bytes(const TensorMap &map);

} // namespace ptxsim
