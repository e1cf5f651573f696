// What every bulk copy does: read a checked tensor map, submit loads that complete on an mbarrier and stores that
// complete in a bulk group.
#pragma once

#include "lanewise.h"
#include "machine.h"
#include "tma/box_walk.h"

#include <functional>
#include <memory>

namespace ptxsim {

/// A bulk copy that one lane issues, with the pieces it moves. All pieces are in one CTA-relative shared image.
struct Transfer {
  std::vector<Piece> pieces;
  uint32_t shared_offset = 0;  // of the image, within its CTA
  uint32_t bytes = 0;          // of the image
  bool rounds_to_tf32 = false; // a load through a map of tf32: each f32 becomes the nearest tf32, ties to even
};

/// Combines the bytes of a piece with the content of global or remote shared memory; null for a plain copy.
using Combine = void (*)(uint8_t *to, const uint8_t *from, uint32_t bytes);

/// Decodes the map at a generic address and checks every rule that a device can see. Traps "descriptor".
TensorMap read_tensor_map(Warp &warp, uint64_t address, uint32_t lane);

/// Traps unless every piece inside the tensor is in memory that may be read (or written).
void check_global_pieces(Warp &warp, const std::vector<Piece> &pieces, bool write, uint32_t lane);

/// Global to the shared memory of `destination`, completing on the mbarrier at `mbarrier_offset` of `signalled`.
void submit_load(Warp &warp, uint32_t lane, Cta &destination, const Transfer &transfer, Cta &signalled,
                 uint32_t mbarrier_offset);

/// Shared memory of the warp's CTA to global, in the lane's current bulk group.
void submit_store(Warp &warp, uint32_t lane, const Transfer &transfer, Combine combine);

/// Places one read or written by a bulk copy: 16-byte aligned parts of shared memory.
MemoryLocation locate_bulk(Warp &warp, uint64_t address, uint64_t bytes, uint32_t alignment, uint32_t lane);

/// The CTA and offset of the mbarrier that an operand names.
struct MbarrierPlace {
  Cta *cta = nullptr;
  uint32_t offset = 0;
};
MbarrierPlace locate_mbarrier(Warp &warp, const Operand &operand, uint32_t lane);

} // namespace ptxsim
