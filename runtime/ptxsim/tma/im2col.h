// The pixels that an access through an im2col tensor map visits (PTX ISA 5.5.4 and 5.5.5).
#pragma once

#include "tma/box_pieces.h"

namespace ptxsim {

/// The operands of an im2col access.
struct Im2colAccess {
  Coordinates coordinates{};                            ///< Of the first pixel, without offsets; channels first.
  std::array<uint32_t, maximum_spatial_rank> offsets{}; ///< W, H, D with kind im2col; wOffset with the other kinds.
  uint32_t halo = 0;                                    ///< wHalo; 0 with kind im2col.
};

/// The shared-memory rows of the halo pixels of im2col::w::128, of which NVIDIA publishes no order in text. Pixel `j`
/// of the halo of group `g`, which has 32 pixels, is in row
enum class HaloOrder : uint8_t {
  Adjacent, ///< 128 + 4 * j + g: the four rows that one tcgen05.cp.4x256b reads are adjacent.
  Grouped,  ///< 128 + g * wHalo + j.
  Between,  ///< g * (32 + wHalo) + 32 + j: directly after its group.
};
constexpr HaloOrder default_halo_order = HaloOrder::Adjacent;

/// A closed interval of coordinates.
struct Interval {
  int64_t first = 0;
  int64_t last = 0;
};

/// The number of spatial dimensions that an access walks along, W first: all with kind im2col, else W alone.
uint32_t walked_dimensions(const TensorMap &map);

/// The bounding box without offsets in spatial dimension `spatial` (0 is W).
Interval bounding_box(const TensorMap &map, uint32_t spatial);

/// The number of rows of pixels, with the halo.
uint32_t im2col_row_count(const TensorMap &map, const Im2colAccess &access);

/// The rows of pixels in the order in which they are stored in shared memory.
std::vector<BoxRow> im2col_rows(const TensorMap &map, const Im2colAccess &access, HaloOrder order = default_halo_order);

} // namespace ptxsim
