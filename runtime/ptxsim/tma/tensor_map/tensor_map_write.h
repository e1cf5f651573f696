// The fields of a tensor map that tensormap.replace writes (PTX ISA 9.7.9.28).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ptxsim {

enum class TensorMapField : uint8_t {
  GlobalAddress,
  Rank,
  BoxDim,
  GlobalDim,
  GlobalStride,
  ElementStride,
  ElementType,
  InterleaveLayout,
  SwizzleMode,
  SwizzleAtomicity,
  FillMode
};

/// Writes one field of the 128 bytes. `ordinal` selects the dimension of fields that have one. Values are those of the
/// instruction: rank counts from zero, strides are in bytes, types are PTX's codes. The highest codes depend on
/// `target`. Returns an error message ("expected ..., got ..."), or an empty string.
std::string replace_field(uint8_t *map, TensorMapField field, uint32_t ordinal, uint64_t value,
                          std::string_view target);

} // namespace ptxsim
