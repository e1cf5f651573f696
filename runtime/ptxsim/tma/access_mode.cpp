#include "tma/access_mode.h"

#include "tma/element_layout.h"
#include "tma/tensor_map/im2col_rules.h"

namespace ptxsim {
namespace {

constexpr size_t directions = 5;
constexpr const char *direction_names[directions] = {"a copy to .shared::cta", "a copy to .shared::cluster",
                                                     "a prefetch", "a store", "a reduction"};

struct ModeRow {
  const char *modifier;
  TensorMapKind kind;
  uint32_t least_rank, most_rank;
  std::array<std::optional<Targets>, directions> targets; // by direction, empty if ptxas accepts the mode for none
};

constexpr auto all = Targets::All, tcgen05 = Targets::Tcgen05, sm_100 = Targets::Sm100, sm_107 = Targets::Sm107;
constexpr std::nullopt_t none = std::nullopt;

// In the order of AccessMode.
const ModeRow mode_rows[] = {
    {"tile", TensorMapKind::Tiled, 1, 5, {all, all, all, all, all}},
    {"tile::gather4", TensorMapKind::Tiled, 2, 2, {sm_100, tcgen05, tcgen05, none, none}},
    // ptxas accepts a reduction with tile::scatter4 and generates a store, without the reduction.
    {"tile::scatter4", TensorMapKind::Tiled, 2, 2, {none, none, none, tcgen05, none}},
    {"im2col", TensorMapKind::Im2col, 3, 5, {all, all, all, none, none}},
    {"im2col::w", TensorMapKind::Im2colW, 3, 5, {sm_100, tcgen05, tcgen05, none, none}},
    {"im2col::w::128", TensorMapKind::Im2colW128, 3, 5, {tcgen05, tcgen05, tcgen05, none, none}},
    {"im2col_no_offs", TensorMapKind::Im2col, 3, 5, {none, none, none, all, all}},
    {"im2col_no_offs::w", TensorMapKind::Im2colW, 3, 5, {none, none, none, sm_107, sm_107}},
};

const ModeRow &row_of(AccessMode mode) { return mode_rows[static_cast<uint8_t>(mode)]; }

bool has_row_coordinates(AccessMode mode) { return mode == AccessMode::Gather4 || mode == AccessMode::Scatter4; }

std::string rank_range(const ModeRow &row) {
  const std::string least = "." + std::to_string(row.least_rank) + "d";
  return row.least_rank == row.most_rank ? least : least + " to ." + std::to_string(row.most_rank) + "d";
}

/// Throws PtxError if ptxas does not accept the mode.
void check_mode(const Decoder &decoder, const ModeRow &row, CopyDirection direction, uint32_t rank) {
  const auto column = static_cast<uint8_t>(direction);
  const std::string modifier = std::string(".") + row.modifier;
  if (!row.targets[column])
    decoder.malformed(std::string("expected a mode of ") + direction_names[column] + ", got " + modifier);
  if (rank < row.least_rank || rank > row.most_rank)
    decoder.malformed("expected " + rank_range(row) + " with " + modifier + ", got ." + std::to_string(rank) + "d");
  decoder.expect_target(*row.targets[column], modifier + " of " + direction_names[column]);
}

/// Hardware refuses other columns; the PTX ISA does not state it (Triton, tutorial 09 of gluon).
std::string gather_column_violation(const TensorMap &map, const Coordinates &coordinates) {
  const auto offset_bytes = static_cast<int64_t>(global_offset(map.element, coordinates[0]));
  if (offset_bytes % 16 == 0)
    return "";
  return "expected the column of gather4 at a multiple of 16 bytes, got " + std::to_string(offset_bytes);
}

Im2colAccess im2col_access(const TensorMap &map, const TensorAccess &access) {
  if (map.kind == TensorMapKind::Im2col)
    return {access.coordinates, access.information, 0};
  const auto [halo, offset, unused] = access.information;
  return {access.coordinates, {offset, 0, 0}, halo};
}

} // namespace

AccessMode take_access_mode(Decoder &decoder, CopyDirection direction, uint32_t rank) {
  for (size_t i = 0; i < std::size(mode_rows); ++i)
    if (decoder.take(mode_rows[i].modifier)) {
      check_mode(decoder, mode_rows[i], direction, rank);
      return static_cast<AccessMode>(i);
    }
  return AccessMode::Tile;
}

uint32_t coordinate_count(AccessMode mode, uint32_t rank) {
  return has_row_coordinates(mode) ? 1 + gathered_rows : rank;
}

uint32_t information_count(AccessMode mode, uint32_t rank) {
  switch (mode) {
  case AccessMode::Im2col:
    return rank - 2;
  case AccessMode::Im2colW:
  case AccessMode::Im2colW128:
    return 2;
  default:
    return 0;
  }
}

std::string mode_violation(const TensorMap &map, AccessMode mode) {
  const ModeRow &row = row_of(mode);
  if (map.kind != row.kind)
    return std::string("expected a tensor map of kind ") + kind_name(row.kind) + " with ." + row.modifier + ", got " +
           kind_name(map.kind);
  if (has_row_coordinates(mode) && map.box[1] != 1)
    return "expected a box of one row for gather4 and scatter4, got " + std::to_string(map.box[1]);
  return "";
}

std::string access_violation(const TensorMap &map, const TensorAccess &access) {
  switch (access.mode) {
  case AccessMode::Tile:
  case AccessMode::Scatter4:
    return "";
  case AccessMode::Gather4:
    return gather_column_violation(map, access.coordinates);
  default:
    return im2col_access_violation(map, im2col_access(map, access));
  }
}

/// PTX ISA: the coordinates of a copy to global memory are not negative; scatter4 drops rows outside.
std::string store_violation(const TensorMap &map, const TensorAccess &access) {
  for (uint32_t i = 0; i < coordinate_count(access.mode, map.rank); ++i)
    if (access.coordinates[i] < 0)
      return "expected coordinates of at least 0 in a tensor store, got " + std::to_string(access.coordinates[i]) +
             " in dimension " + std::to_string(i);
  return map.kind == TensorMapKind::Tiled ? "" : im2col_store_violation(map);
}

std::string access_unconfirmed(const TensorAccess &access) {
  if (access.mode == AccessMode::Im2colNoOffsetsW)
    return "the pixels of a store in mode .im2col_no_offs::w";
  const uint32_t halo = access.information[0];
  if (access.mode != AccessMode::Im2colW128 || halo == 0)
    return "";
  return "the order of the halos of .im2col::w::128 in shared memory";
}

uint64_t access_row_count(const TensorMap &map, const TensorAccess &access) {
  switch (access.mode) {
  case AccessMode::Tile:
    return tile_row_count(map);
  case AccessMode::Gather4:
  case AccessMode::Scatter4:
    return gathered_rows;
  default:
    return im2col_row_count(map, im2col_access(map, access));
  }
}

std::vector<BoxRow> access_rows(const TensorMap &map, const TensorAccess &access) {
  switch (access.mode) {
  case AccessMode::Tile:
    return tile_rows(map, access.coordinates);
  case AccessMode::Gather4:
  case AccessMode::Scatter4:
    return gather_rows(map, access.coordinates);
  default:
    return im2col_rows(map, im2col_access(map, access));
  }
}

} // namespace ptxsim
