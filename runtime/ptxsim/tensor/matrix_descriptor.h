// The 64-bit shared-memory matrix descriptors of wgmma and tcgen05, and the address function they share.
#pragma once

#include "tma/swizzle.h"

#include <cstdint>
#include <string>

namespace ptxsim {

/// The layout in shared memory of a matrix that consists of core matrices of 8 rows; sizes in bytes.
struct MatrixLayout {
  uint32_t start = 0;
  uint32_t leading = 0; ///< leading-dimension byte offset (LBO)
  uint32_t stride = 0;  ///< stride-dimension byte offset (SBO)
  uint32_t base_offset = 0;
  Swizzle swizzle = Swizzle::None;

  /// Shared-memory address of element (row, depth): `row` counts M or N, `depth` counts K, from the start of
  /// the descriptor; `bytes` is the size of an element. Elements narrower than a core-matrix row are contiguous.
  uint32_t address(uint32_t row, uint32_t depth, uint32_t bytes, bool depth_major) const;

  /// A description of the layout if its `rows` K-major rows start at another row of the pattern of the swizzle than the
  /// first, or if the groups of eight rows do; empty otherwise. PTX ISA does not define their addresses.
  std::string rows_off_pattern(uint32_t rows) const;
};

/// The content of a descriptor, or an error message ("expected ..., got ...").
struct DecodedDescriptor {
  MatrixLayout layout;
  std::string violation;
  std::string unconfirmed;
};

/// PTX ISA, "Matrix Descriptor" of wgmma (sm_90a).
DecodedDescriptor decode_wgmma_descriptor(uint64_t descriptor);

/// PTX ISA, "Shared memory descriptor" of tcgen05 (sm_100a).
DecodedDescriptor decode_tcgen05_descriptor(uint64_t descriptor);

} // namespace ptxsim
