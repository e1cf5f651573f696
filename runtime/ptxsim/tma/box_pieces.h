// The elements that a tiled TMA copy moves, as contiguous pieces.
#pragma once

#include "tma/tensor_map/tensor_map.h"

#include <vector>

namespace ptxsim {

using Coordinates = std::array<int64_t, maximum_rank>;

/// A row of the box: elements [first, first + count) of dimension 0 of the tensor.
struct BoxRow {
  uint64_t address = 0; ///< of element 0 of dimension 0; valid only if `inside`
  int64_t first = 0;
  uint32_t count = 0;
  bool inside = true; ///< the coordinates of the outer dimensions are inside the tensor
};

/// A contiguous part of a row. A piece outside the tensor has no global address: loads fill it, stores skip it, except
/// `beyond` the last element. The shared memory of a piece has `padding` bytes more than its global memory.
struct Piece {
  uint32_t shared_address = 0;
  uint64_t global_address = 0;
  uint32_t bytes = 0; ///< in global memory
  bool inside = true;
  uint32_t padding = 0;
  bool beyond = false; ///< in the 16 bytes of the last element, which a store writes as a whole
};

/// A store writes 16 aligned bytes of a row as a whole, also those beyond the last element. Measured on H200
/// (benchmarks/hopper/bounds.py); no manual says so.
constexpr uint32_t store_granule = 16;

/// The rows of tile::gather4 and tile::scatter4.
constexpr uint32_t gathered_rows = 4;

/// The number of rows of a tiled copy.
uint64_t tile_row_count(const TensorMap &map);

/// The row of the box whose first element has these coordinates.
BoxRow box_row(const TensorMap &map, const Coordinates &coordinates);

/// The rows of a tiled copy in the order in which they are stored in shared memory.
std::vector<BoxRow> tile_rows(const TensorMap &map, const Coordinates &coordinates);

/// tile::gather4 and tile::scatter4: four rows of a matrix, `coordinates` being {column, row, row, row, row}.
std::vector<BoxRow> gather_rows(const TensorMap &map, const Coordinates &coordinates);

/// The pieces of `rows`, which begin at `shared_address`, at their swizzled addresses. Each is within one swizzle atom.
std::vector<Piece> row_pieces(const TensorMap &map, const std::vector<BoxRow> &rows, uint32_t shared_address);

} // namespace ptxsim
