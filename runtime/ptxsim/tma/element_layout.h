// How the elements of a row lie in global memory and in the shared-memory image (PTX ISA 5.5.1.1).
#pragma once

#include "tma/tensor_map/tensor_map.h"

namespace ptxsim {

/// Elements of a container of the sub-byte types.
constexpr uint32_t packed_container = 16;
/// Elements of a row of the padded types.
constexpr uint32_t padded_row = 128;

/// The elements of which extent 0 and coordinate 0 of a padded type are multiples.
uint32_t padded_step(const TensorMap &map);

/// Whether the elements have fewer than 8 bits: .b4x16, .b4x16_p64, .b6x16_p32 and .b6p2x16.
bool is_packed(TensorElement element);

/// Whether a container of the element fills 16 bytes of shared memory, but fewer bytes of global memory.
bool is_padded(TensorElement element);

/// Bytes of which the address and the strides of the map are multiples.
uint32_t global_alignment(const TensorMap &map);

/// Bytes of `count` elements in global memory, where the elements of every type are contiguous.
uint32_t global_bytes(TensorElement element, uint32_t count);

/// The offset in bytes of an element from the start of its row of the tensor, which may be negative.
uint64_t global_offset(TensorElement element, int64_t index);

/// Bytes of `count` elements in the shared-memory image, with the padding of padded types.
uint32_t shared_bytes(TensorElement element, uint32_t count);

/// The first rule of the packed types that the map violates, as "expected ..., got ..."; empty if it violates none
/// (PTX ISA 9.7.9.27.1.1, CUDA driver API).
std::string packed_violation(const TensorMap &map);

} // namespace ptxsim
