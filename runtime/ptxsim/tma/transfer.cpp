#include "tma/transfer.h"

#include "memory/mbarrier_operations.h"
#include "tma/copy_rules.h"
#include "tma/tensor_map/tensor_map_proxy.h"

#include <algorithm>

namespace ptxsim {
namespace {

/// A copy completes in this many parts, so that a wait that accepts the first bytes alone is detected.
constexpr size_t copy_parts = 2;

/// Writes pieces of a load to shared memory. Padding keeps its bytes: their content is undefined.
void write_shared(uint8_t *shared, const Transfer &transfer, size_t first, size_t last) {
  for (size_t i = first; i < last; ++i) {
    const Piece &piece = transfer.pieces[i];
    uint8_t *const to = shared + piece.shared_address;
    if (!piece.inside) {
      fill_outside(transfer.fills_nan, to, piece.bytes);
      continue;
    }
    std::memcpy(to, reinterpret_cast<const void *>(piece.global_address), piece.bytes);
    if (transfer.convert)
      transfer.convert(to, piece.bytes);
  }
}

uint64_t bytes_of(const std::vector<Piece> &pieces, size_t first, size_t last) {
  uint64_t bytes = 0;
  for (size_t i = first; i < last; ++i)
    bytes += pieces[i].bytes;
  return bytes;
}

uint64_t bytes_inside(const std::vector<Piece> &pieces) {
  uint64_t bytes = 0;
  for (const Piece &piece : pieces)
    bytes += piece.inside ? piece.bytes : 0;
  return bytes;
}

/// Submits the part of a load that one CTA gets.
void submit_to(Warp &warp, uint32_t lane, const std::shared_ptr<const Transfer> &moved, const Destination &destination,
               uint32_t mbarrier_offset) {
  Cta *const to = destination.cta, *const signal = destination.signalled;
  Mbarrier &mbarrier = mbarrier_for_async(warp, *signal, mbarrier_offset, lane);
  warp.check_shared_write(*to, moved->shared_offset, moved->bytes, warp.transaction_actor(mbarrier), lane);
  for (const Piece &piece : moved->pieces)
    to->shadow.leave_undefined(piece.shared_address + piece.bytes, piece.padding);
  const Origin origin = warp.origin(lane);
  const uint64_t phase = mbarrier.phase;
  const size_t count = moved->pieces.size(), step = (count + copy_parts - 1) / copy_parts;
  for (size_t first = 0; first < count; first += step) {
    const size_t last = std::min(first + step, count);
    warp.cluster.async.submit({origin, nullptr, false, [=] {
                                 write_shared(to->shared.data(), *moved, first, last);
                                 complete_transactions(origin, *signal, mbarrier_offset,
                                                       bytes_of(moved->pieces, first, last), phase);
                               }});
  }
  warp.machine.counters["bulk_load_bytes"] += bytes_of(moved->pieces, 0, count);
}

/// Reads the source bytes from shared memory, before they are written to global memory.
std::vector<uint8_t> read_shared(const uint8_t *shared, const std::vector<Piece> &pieces) {
  std::vector<uint8_t> staged(bytes_of(pieces, 0, pieces.size()));
  uint8_t *to = staged.data();
  for (const Piece &piece : pieces) {
    if (piece.padding)
      pack_six_bits(to, shared + piece.shared_address);
    else
      std::memcpy(to, shared + piece.shared_address, piece.bytes);
    to += piece.bytes;
  }
  return staged;
}

void write_global(const std::vector<uint8_t> &staged, const std::vector<Piece> &pieces, Combine combine) {
  const uint8_t *from = staged.data();
  for (const Piece &piece : pieces) {
    auto *to = reinterpret_cast<uint8_t *>(piece.global_address);
    if (combine)
      combine(to, from, piece.bytes);
    else
      std::memcpy(to, from, piece.bytes);
    from += piece.bytes;
  }
}

} // namespace

TensorMap read_tensor_map(Warp &warp, uint64_t address, uint32_t lane, bool stores) {
  const MemoryLocation location =
      warp.locate(Space::Generic, address, tensor_map_bytes, tensor_map_alignment, lane, false);
  if (location.space == Space::SharedCta || location.space == Space::Local)
    warp.trap_lane(lane, trap_kind::illegal,
                   std::string("expected a tensor map in .const, .param or .global, got an address in ") +
                       (location.space == Space::Local ? ".local" : ".shared"));
  if (std::string missing =
          warp.machine.tensor_map_proxy.missing_fence(address, &warp.cluster, warp.clock.known.happened);
      !missing.empty() && warp.machine.options.checks)
    warp.trap_lane(lane, trap_kind::race, missing);
  TensorMap map = decode_tensor_map(location.bytes);
  map.half_rows = stores && permits_half_rows(map, warp.machine.program.target);
  if (std::string violation = tensor_map_violation(map); !violation.empty())
    warp.trap_lane(lane, trap_kind::descriptor, "the tensor map is illegal: " + violation);
  if (std::string violation = target_violation(map, warp.machine.program.target); !violation.empty())
    warp.trap_lane(lane, trap_kind::descriptor, "the tensor map is illegal: " + violation);
  if (std::string feature = tensor_map_unconfirmed(map); !feature.empty())
    warp.unconfirmed(feature);
  return map;
}

void check_global_pieces(Warp &warp, const std::vector<Piece> &pieces, bool write, uint32_t lane) {
  // Neighbouring pieces of a row are one range.
  for (size_t i = 0; i < pieces.size();) {
    const Piece &first = pieces[i];
    uint64_t bytes = first.bytes;
    size_t next = i + 1;
    const auto is_moved = [write](const Piece &piece) { return piece.inside || (write && piece.beyond); };
    while (is_moved(first) && next < pieces.size() && is_moved(pieces[next]) &&
           pieces[next].global_address == first.global_address + bytes)
      bytes += pieces[next++].bytes;
    if (is_moved(first))
      warp.locate(Space::Global, first.global_address, bytes, 1, lane, write);
    i = next;
  }
}

void submit_load(Warp &warp, uint32_t lane, const Transfer &transfer, const std::vector<Destination> &destinations,
                 uint32_t mbarrier_offset) {
  const auto moved = std::make_shared<const Transfer>(transfer);
  for (const Destination &destination : destinations)
    submit_to(warp, lane, moved, destination, mbarrier_offset);
  warp.machine.counters["bulk_load_l2_bytes"] += bytes_inside(transfer.pieces);
}

void submit_store(Warp &warp, uint32_t lane, const Transfer &transfer, Combine combine) {
  AsyncQueue &queue = warp.queue(QueueKind::BulkGroup, lane);
  const Epoch position = queue.issue(warp.clock.known);
  queue.unread.insert(position);
  const Actor actor = warp.queue_actor(queue, position);
  auto pieces = std::make_shared<std::vector<Piece>>();
  for (const Piece &piece : transfer.pieces)
    if (piece.inside || piece.beyond) {
      warp.check_shared_read(warp.cta, piece.shared_address, piece.bytes + piece.padding, actor, lane);
      pieces->push_back(piece);
    }
  Cluster *const cluster = &warp.cluster;
  Cta *const cta = &warp.cta;
  const Origin origin = warp.origin(lane);
  cluster->async.submit({origin, &queue, false, [=, &queue] {
                           auto staged =
                               std::make_shared<std::vector<uint8_t>>(read_shared(cta->shared.data(), *pieces));
                           queue.unread.erase(position);
                           ++cluster->progress;
                           cluster->async.submit({origin, &queue, false, [=, &queue] {
                                                    write_global(*staged, *pieces, combine);
                                                    queue.unfinished.erase(position);
                                                    ++cluster->progress;
                                                  }});
                         }});
  warp.machine.counters["bulk_store_bytes"] += bytes_of(*pieces, 0, pieces->size());
}

std::vector<Cta *> multicast_ctas(Warp &warp, const Operand &mask, uint32_t lane) {
  warp.require(mask);
  const uint32_t ranks = static_cast<uint16_t>(warp.bits(mask, lane));
  if (ranks == 0 || ranks >> warp.cluster.ctas.size())
    warp.trap_lane(lane, trap_kind::illegal,
                   "expected a multicast mask of CTAs of the cluster, got " + std::to_string(ranks));
  std::vector<Cta *> ctas;
  for (uint32_t rest = ranks; rest; rest &= rest - 1)
    ctas.push_back(warp.cluster.ctas[uint32_t(__builtin_ctz(rest))].get());
  return ctas;
}

void decode_cache_policy(Decoder &decoder, size_t index) {
  const bool hinted = decoder.take("L2::cache_hint");
  decoder.expect_operands(index + hinted, index + hinted);
  if (hinted)
    decoder.source(index, Type::B64);
}

MemoryLocation locate_image(Warp &warp, const Operand &operand, Space space, uint64_t bytes, uint32_t alignment,
                            uint32_t lane) {
  const MemoryLocation location = warp.locate_shared(warp.defined_address(operand, lane), bytes, alignment, lane);
  if (space == Space::SharedCta && location.cta != &warp.cta)
    warp.trap_lane(lane, trap_kind::illegal,
                   "expected an address in .shared::cta, the shared memory of CTA rank " +
                       std::to_string(warp.cta.rank) + ", got that of rank " + std::to_string(location.cta->rank));
  return location;
}

MbarrierLocation locate_mbarrier(Warp &warp, const Operand &operand, uint32_t lane) {
  const MemoryLocation location = warp.locate_shared(warp.defined_address(operand, lane), 8, 8, lane);
  return {location.cta, static_cast<uint32_t>(location.offset)};
}

} // namespace ptxsim
