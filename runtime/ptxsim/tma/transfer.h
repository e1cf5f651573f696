// The steps that all bulk copies share: reading a tensor map, submitting loads that complete on an mbarrier and stores
// that complete in a bulk group.
#pragma once

#include "execution/lanewise.h"
#include "execution/machine.h"
#include "tma/box_pieces.h"
#include "tma/element_conversion.h"

#include <functional>
#include <memory>

namespace ptxsim {

/// A bulk copy that one lane issues, as pieces. Their shared addresses are offsets within one CTA.
struct Transfer {
  std::vector<Piece> pieces;
  uint32_t shared_offset = 0;   // of the image, within its CTA
  uint32_t bytes = 0;           // of the image
  Conversion convert = nullptr; // of a load
  bool fills_nan = false;       // a load fills elements outside the tensor with NaN instead of zero
};

/// Reduces the bytes of a piece into global memory or the shared memory of another CTA; null for a plain copy.
using Combine = void (*)(uint8_t *to, const uint8_t *from, uint32_t bytes);

/// Decodes the tensor map at a generic address, for a store or for a load. Traps "descriptor" if it violates a rule.
TensorMap read_tensor_map(Warp &warp, uint64_t address, uint32_t lane, bool stores = false);

/// Traps unless every piece inside the tensor is in memory that may be read (or written).
void check_global_pieces(Warp &warp, const std::vector<Piece> &pieces, bool write, uint32_t lane);

/// A CTA whose shared memory a load writes, and the CTA whose mbarrier gets the bytes.
struct Destination {
  Cta *cta = nullptr;
  Cta *signalled = nullptr;
};

/// Submits a load from global memory, which reports the bytes of global memory to the mbarrier at `mbarrier_offset` of
/// each destination. Counts the bytes that each destination gets (bulk_load_bytes), and once for all destinations those
/// that come from global memory through L2, without the fill of elements outside a tensor (bulk_load_l2_bytes).
void submit_load(Warp &warp, uint32_t lane, const Transfer &transfer, const std::vector<Destination> &destinations,
                 uint32_t mbarrier_offset);

/// Submits a copy from the shared memory of the warp's CTA to global memory, in the lane's current bulk group.
void submit_store(Warp &warp, uint32_t lane, const Transfer &transfer, Combine combine);

/// The CTAs of the cluster that a multicast mask selects. Traps if the mask is empty or selects others.
std::vector<Cta *> multicast_ctas(Warp &warp, const Operand &mask, uint32_t lane);

/// Takes .L2::cache_hint and, with it, the cache policy: operand `index`, the last one.
void decode_cache_policy(Decoder &decoder, size_t index);

/// Locates the shared memory that an operand addresses in `space`: that of the issuing CTA in .shared::cta, else of any
/// CTA of the cluster.
MemoryLocation locate_image(Warp &warp, const Operand &operand, Space space, uint64_t bytes, uint32_t alignment,
                            uint32_t lane);

/// The CTA and offset of the mbarrier that an operand addresses.
struct MbarrierLocation {
  Cta *cta = nullptr;
  uint32_t offset = 0;
};
MbarrierLocation locate_mbarrier(Warp &warp, const Operand &operand, uint32_t lane);

} // namespace ptxsim
