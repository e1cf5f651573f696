// The elements that one tiled TMA copy moves, as contiguous pieces: a pure function of map and coordinates.
#pragma once

#include "tma/tensor_map.h"

#include <vector>

namespace ptxsim {

using Coordinates = std::array<int64_t, maximum_rank>;

/// One row of a shared-memory image: elements [first, first + count) of dimension 0 of a row in global memory.
struct BoxRow {
  uint64_t address = 0; ///< of element 0 of dimension 0; valid only if `inside`
  int64_t first = 0;
  uint32_t count = 0;
  bool inside = true; ///< the coordinates of the outer dimensions are inside the tensor
};

/// A contiguous part of a row. Outside the tensor there is no global address: loads fill, stores drop.
struct Piece {
  uint32_t shared_address = 0;
  uint64_t global_address = 0;
  uint32_t bytes = 0;
  bool inside = true;
};

/// Rows in the order of the dense shared-memory image, dimension 0 fastest. Other load modes differ in this
/// list alone.
std::vector<BoxRow> tile_rows(const TensorMap &map, const Coordinates &coordinates);

/// tile::gather4 and tile::scatter4: four rows of a matrix, `coordinates` being {column, row, row, row, row}.
std::vector<BoxRow> gather_rows(const TensorMap &map, const Coordinates &coordinates);

/// The pieces of `rows` at `shared_address`, swizzled. Each is within one swizzle atom.
std::vector<Piece> row_pieces(const TensorMap &map, const std::vector<BoxRow> &rows, uint32_t shared_address);

} // namespace ptxsim
