// The access modes of tensor copies: .tile, .tile::gather4, .im2col, ... (PTX ISA 9.7.9.27.1).
#pragma once

#include "program/decoder.h"
#include "tma/im2col.h"

namespace ptxsim {

enum class AccessMode : uint8_t {
  Tile,
  Gather4,
  Scatter4,
  Im2col,
  Im2colW,
  Im2colW128,
  Im2colNoOffsets,
  Im2colNoOffsetsW
};

/// What a mode copies: ptxas accepts each mode in some directions only.
enum class CopyDirection : uint8_t { ToCta, ToCluster, Prefetch, ToGlobal, Reduce };

/// Takes the mode of an instruction of `rank`; .tile if it names none. Throws PtxError if ptxas does not accept the
/// mode in this direction, on this target or with this rank.
AccessMode take_access_mode(Decoder &decoder, CopyDirection direction, uint32_t rank);

/// The number of coordinates of the instruction.
uint32_t coordinate_count(AccessMode mode, uint32_t rank);

/// The number of elements of its vector of im2col information; 0 if it has none.
uint32_t information_count(AccessMode mode, uint32_t rank);

/// The operands of one lane.
struct TensorAccess {
  AccessMode mode = AccessMode::Tile;
  Coordinates coordinates{};
  std::array<uint32_t, maximum_spatial_rank> information{}; ///< Offsets W, H, D; or wHalo, wOffset.
};

/// The first disagreement of the mode with the map, as "expected ..., got ..."; empty if there is none.
std::string mode_violation(const TensorMap &map, AccessMode mode);

/// The first limit that the operands exceed, as "expected ..., got ..."; empty if they are legal.
std::string access_violation(const TensorMap &map, const TensorAccess &access);

/// The same for the rules of stores and reductions alone.
std::string store_violation(const TensorMap &map, const TensorAccess &access);

/// An undocumented feature that the access uses; empty if it uses none.
std::string access_unconfirmed(const TensorAccess &access);

/// The number of rows of an access.
uint64_t access_row_count(const TensorMap &map, const TensorAccess &access);

/// The rows of an access in the order in which they are stored in shared memory.
std::vector<BoxRow> access_rows(const TensorMap &map, const TensorAccess &access);

} // namespace ptxsim
