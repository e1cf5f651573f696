#include "tma/box_pieces.h"

#include "tma/element_layout.h"

#include <algorithm>

namespace ptxsim {
namespace {

/// The bytes that a swizzle keeps contiguous. Rows without swizzle are divided too, so that a copy completes in parts.
constexpr uint32_t atom_bytes(Swizzle mode) { return mode == Swizzle::B128Atom32Flip8 ? swizzle_run : 16; }

/// Whether a coordinate of dimension `dimension` is inside the tensor.
bool is_inside(const TensorMap &map, uint32_t dimension, int64_t coordinate) {
  return coordinate >= 0 && static_cast<uint64_t>(coordinate) < map.extent[dimension];
}

Coordinates coordinates_at(const TensorMap &map, Coordinates coordinates,
                           const std::array<uint32_t, maximum_rank> &index) {
  for (uint32_t i = 1; i < map.rank; ++i)
    coordinates[i] += static_cast<int64_t>(index[i]) * map.element_stride[i];
  return coordinates;
}

/// Advances to the next index, dimension 1 fastest. Returns false after the last one.
bool advance(const TensorMap &map, std::array<uint32_t, maximum_rank> &index) {
  for (uint32_t i = 1; i < map.rank; ++i) {
    if (++index[i] < tile_count(map, i))
      return true;
    index[i] = 0;
  }
  return false;
}

/// Divides bytes [begin, end) of a row at multiples of the atom.
void append_pieces(std::vector<Piece> &pieces, const TensorMap &map, uint32_t dense, uint64_t global, uint32_t begin,
                   uint32_t end, bool inside, bool beyond = false) {
  const uint32_t atom = atom_bytes(map.swizzle);
  while (begin < end) {
    const uint32_t address = dense + begin;
    const uint32_t bytes = std::min(end - begin, atom - address % atom);
    const bool addressed = inside || beyond;
    pieces.push_back({swizzled(map.swizzle, address), addressed ? global + begin : 0, bytes, inside, 0, beyond});
    begin += bytes;
  }
}

/// The pieces of a row of a padded type, one per container, which is inside or outside as a whole.
void append_containers(std::vector<Piece> &pieces, const TensorMap &map, const BoxRow &row, uint32_t shared_address) {
  const uint32_t bytes = global_bytes(map.element, packed_container);
  const uint32_t padding = shared_bytes(map.element, packed_container) - bytes;
  for (uint32_t at = 0; at < row.count; at += packed_container, shared_address += bytes + padding) {
    const int64_t index = row.first + at;
    const bool inside = row.inside && is_inside(map, 0, index);
    const uint64_t global = inside ? row.address + global_offset(map.element, index) : 0;
    pieces.push_back({swizzled(map.swizzle, shared_address), global, bytes, inside, padding});
  }
}

/// The pieces of a row whose elements are contiguous in shared memory too.
void append_row(std::vector<Piece> &pieces, const TensorMap &map, const BoxRow &row, uint32_t shared_address) {
  const int64_t count = row.count, extent = static_cast<int64_t>(map.extent[0]);
  const int64_t begin = row.inside ? std::clamp<int64_t>(-row.first, 0, count) : count;
  const int64_t end = std::clamp<int64_t>(extent - row.first, begin, count);
  const auto bytes = [&](int64_t elements) { return global_bytes(map.element, static_cast<uint32_t>(elements)); };
  const uint64_t global = row.address + global_offset(map.element, row.first);
  append_pieces(pieces, map, shared_address, global, 0, bytes(begin), false);
  append_pieces(pieces, map, shared_address, global, bytes(begin), bytes(end), true);
  const uint64_t rest = -(global + bytes(end)) % store_granule;
  const uint32_t written = end > begin ? std::min<uint64_t>(bytes(end) + rest, bytes(count)) : bytes(end);
  append_pieces(pieces, map, shared_address, global, bytes(end), written, false, true);
  append_pieces(pieces, map, shared_address, global, written, bytes(count), false);
}

/// The pieces of a row of an interleaved tensor that skips elements of dimension 0: one per element.
void append_elements(std::vector<Piece> &pieces, const TensorMap &map, const BoxRow &row, uint32_t shared_address) {
  const uint32_t size = element_bytes(map.element);
  int64_t index = row.first;
  for (uint32_t i = 0; i < row.count; ++i, index += map.element_stride[0], shared_address += size) {
    const bool inside = row.inside && is_inside(map, 0, index);
    append_pieces(pieces, map, shared_address, row.address + global_offset(map.element, index), 0, size, inside);
  }
}

} // namespace

uint64_t tile_row_count(const TensorMap &map) {
  uint64_t rows = 1;
  for (uint32_t i = 1; i < map.rank; ++i)
    rows *= tile_count(map, i);
  return rows;
}

BoxRow box_row(const TensorMap &map, const Coordinates &coordinates) {
  BoxRow row{map.address, coordinates[0], tile_count(map, 0), true};
  for (uint32_t i = 1; i < map.rank; ++i) {
    row.inside &= is_inside(map, i, coordinates[i]);
    row.address += static_cast<uint64_t>(coordinates[i]) * map.stride_bytes[i];
  }
  return row;
}

std::vector<BoxRow> tile_rows(const TensorMap &map, const Coordinates &coordinates) {
  std::vector<BoxRow> rows;
  std::array<uint32_t, maximum_rank> index{};
  do
    rows.push_back(box_row(map, coordinates_at(map, coordinates, index)));
  while (advance(map, index));
  return rows;
}

std::vector<BoxRow> gather_rows(const TensorMap &map, const Coordinates &coordinates) {
  std::vector<BoxRow> rows;
  for (uint32_t i = 1; i <= gathered_rows; ++i)
    rows.push_back(box_row(map, {coordinates[0], coordinates[i]}));
  return rows;
}

std::vector<Piece> row_pieces(const TensorMap &map, const std::vector<BoxRow> &rows, uint32_t shared_address) {
  std::vector<Piece> pieces;
  for (const BoxRow &row : rows) {
    if (map.interleave != Interleave::None && map.element_stride[0] > 1)
      append_elements(pieces, map, row, shared_address);
    else if (is_padded(map.element))
      append_containers(pieces, map, row, shared_address);
    else
      append_row(pieces, map, row, shared_address);
    shared_address += shared_bytes(map.element, row.count);
  }
  return pieces;
}

} // namespace ptxsim
