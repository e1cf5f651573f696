// cp.async.bulk.tensor, cp.reduce.async.bulk.tensor and cp.async.bulk.prefetch.tensor (PTX ISA 9.7.9.27).
//
// settings of an instruction: the enumerators of Setting, in order.
#include "program/decoder.h"
#include "program/opcode.h"
#include "tma/access_mode.h"
#include "tma/copy_rules.h"
#include "tma/element_layout.h"
#include "tma/reduction.h"
#include "tma/transfer.h"

#include <algorithm>

namespace ptxsim {
namespace {

enum Setting : uint8_t { Rank, Mode, Information, Multicast, CtaGroup, Operation }; // Multicast: the operand, or 0

/// Alignment of the shared memory of a tensor copy (CUDA C++ Programming Guide).
constexpr uint32_t image_alignment = 128;

AccessMode mode_of(const Instruction &in) { return static_cast<AccessMode>(in.settings[Mode]); }

void decode_rank_and_mode(Decoder &decoder, CopyDirection direction) {
  const int rank = decoder.take_one_of({"1d", "2d", "3d", "4d", "5d"}) + 1;
  if (rank == 0)
    decoder.malformed("expected .1d, .2d, .3d, .4d or .5d");
  decoder.instruction.settings[Rank] = rank;
  decoder.instruction.settings[Mode] = static_cast<int32_t>(take_access_mode(decoder, direction, uint32_t(rank)));
}

/// [map, {c0, c1, ...}]
void decode_map_operand(Decoder &decoder, size_t index) {
  decoder.address(index);
  Operand &map = decoder.instruction.operands[index];
  if (map.elements.size() == 1 && map.elements[0].kind == Operand::Kind::Vector)
    map.elements = std::vector<Operand>(map.elements[0].elements);
  const uint32_t expected = coordinate_count(mode_of(decoder.instruction), decoder.instruction.settings[Rank]);
  if (map.elements.size() != expected)
    decoder.malformed("expected " + std::to_string(expected) + " coordinates, got " +
                      std::to_string(map.elements.size()));
  for (Operand &coordinate : map.elements)
    decoder.source(coordinate, Type::S32);
}

/// {offsetW, offsetH, offsetD} or {wHalo, wOffset}; returns the index of the next operand.
size_t decode_information(Decoder &decoder, size_t index) {
  Instruction &in = decoder.instruction;
  const uint32_t count = information_count(mode_of(in), in.settings[Rank]);
  if (count == 0)
    return index;
  if (index >= decoder.count() || !decoder.is_vector(index))
    decoder.malformed("expected a vector of " + std::to_string(count) + " offsets as operand " + std::to_string(index));
  decoder.vector(index, Type::U16, count, true);
  in.settings[Information] = static_cast<int32_t>(index);
  return index + 1;
}

TensorAccess access_of(Warp &warp, const Instruction &in, const Operand &map, uint32_t lane) {
  TensorAccess access{mode_of(in), {}, {}};
  for (size_t i = 0; i < map.elements.size(); ++i) {
    warp.require(map.elements[i]);
    access.coordinates[i] = warp.lanes<int32_t>(map.elements[i])[lane];
  }
  for (size_t i = 0; i < information_count(access.mode, in.settings[Rank]); ++i) {
    const Operand &element = in.operands[in.settings[Information]].elements[i];
    warp.require(element);
    access.information[i] = warp.lanes<uint16_t>(element)[lane];
  }
  return access;
}

void check_map_form(Warp &warp, const Instruction &in, const TensorMap &map, uint32_t lane) {
  if (map.rank != static_cast<uint32_t>(in.settings[Rank]))
    warp.trap_lane(lane, trap_kind::descriptor,
                   "expected a tensor map of rank " + std::to_string(in.settings[Rank]) + ", got rank " +
                       std::to_string(map.rank));
  if (std::string violation = mode_violation(map, mode_of(in)); !violation.empty())
    warp.trap_lane(lane, trap_kind::descriptor, violation);
  if (map.kind == TensorMapKind::Im2col && map.interleave != Interleave::None)
    warp.trap_lane(
        lane, trap_kind::unsupported,
        "TMA of an im2col tensor map with an interleaved layout is not supported: PTX ISA 5.5.6 does not state "
        "which dimension counts the slices of channels");
}

void check_access(Warp &warp, const TensorMap &map, const TensorAccess &access, uint32_t lane) {
  if (std::string violation = access_violation(map, access); !violation.empty())
    warp.trap_lane(lane, trap_kind::illegal, violation);
  if (std::string violation = coordinate_violation(map, access.coordinates); !violation.empty())
    warp.trap_lane(lane, trap_kind::illegal, violation);
  for (const std::string &feature : {access_unconfirmed(access), coordinate_unconfirmed(map, access.coordinates)})
    if (!feature.empty())
      warp.unconfirmed(feature);
}

/// Bytes of shared memory that the image occupies. A swizzle exchanges units of the last span too.
uint64_t image_bytes(const TensorMap &map, const TensorAccess &access) {
  const uint64_t bytes = access_row_count(map, access) * shared_bytes(map.element, tile_count(map, 0));
  const uint32_t span = std::max(swizzle_span(map.swizzle), 1u);
  return (bytes + span - 1) / span * span;
}

/// The pieces of the copy whose shared memory begins at `shared_offset`.
Transfer plan_transfer(const TensorMap &map, const TensorAccess &access, uint32_t shared_offset) {
  Transfer transfer;
  transfer.shared_offset = shared_offset;
  transfer.bytes = static_cast<uint32_t>(image_bytes(map, access));
  transfer.pieces = row_pieces(map, access_rows(map, access), shared_offset);
  return transfer;
}

/// The CTA whose mbarrier a copy to `destination` signals. With cta_group::2 it is, in each pair, the CTA whose rank
/// has the parity of the rank of `named`.
Cta &signalled_cta(Warp &warp, const Instruction &in, Cta &destination, Cta &named, uint32_t lane) {
  const bool pairs = in.settings[CtaGroup] == 2;
  const uint32_t rank = pairs ? (destination.rank & ~1u) | (named.rank & 1) : destination.rank;
  if (!in.settings[Multicast] && named.rank != rank)
    warp.trap_lane(lane, trap_kind::illegal,
                   std::string("expected the mbarrier in the CTA of the destination") +
                       (pairs ? " or of its pair" : "") + ", rank " + std::to_string(destination.rank) + ", got rank " +
                       std::to_string(named.rank));
  if (rank >= warp.cluster.ctas.size())
    warp.trap_lane(lane, trap_kind::illegal, "expected a cluster with the other CTA of the pair for cta_group::2");
  return *warp.cluster.ctas[rank];
}

void load_one(Warp &warp, const Instruction &in, uint32_t lane) {
  const TensorMap map = read_tensor_map(warp, warp.defined_address(in.operands[1], lane), lane);
  check_map_form(warp, in, map, lane);
  const TensorAccess access = access_of(warp, in, in.operands[1], lane);
  check_access(warp, map, access, lane);
  // Images that exceed shared memory trap here, before their rows are computed.
  const MemoryLocation location =
      locate_image(warp, in.operands[0], in.space, image_bytes(map, access), image_alignment, lane);
  Transfer transfer = plan_transfer(map, access, static_cast<uint32_t>(location.offset));
  if (std::string feature = load_unconfirmed(map); !feature.empty())
    warp.unconfirmed(feature);
  transfer.convert = load_conversion(map.element);
  transfer.fills_nan = map.fill_nan;
  check_global_pieces(warp, transfer.pieces, false, lane);
  const MbarrierLocation mbarrier = locate_mbarrier(warp, in.operands[2], lane);
  std::vector<Cta *> ctas = {location.cta};
  if (in.settings[Multicast])
    ctas = multicast_ctas(warp, in.operands[in.settings[Multicast]], lane);
  std::vector<Destination> destinations;
  for (Cta *cta : ctas)
    destinations.push_back({cta, &signalled_cta(warp, in, *cta, *mbarrier.cta, lane)});
  submit_load(warp, lane, transfer, destinations, mbarrier.offset);
}

Outcome tensor_load(Warp &warp, const Instruction &in) {
  for_each_lane(warp.mask, [&](uint32_t lane) { load_one(warp, in, lane); });
  return Outcome::Next;
}

Combine combination(Warp &warp, const Instruction &in, const TensorMap &map, uint32_t lane) {
  if (in.settings[Operation] < 0)
    return nullptr;
  const Combine combine = find_tensor_reduction(static_cast<Reduction>(in.settings[Operation]), map.element);
  if (!combine)
    warp.trap_lane(lane, trap_kind::descriptor,
                   std::string("expected an element type that the reduction supports, got ") +
                       element_name(map.element));
  return combine;
}

/// Traps if the store also writes bytes of 16 that are beyond the extent of dimension 0.
void check_granules(Warp &warp, const TensorMap &map, const std::vector<Piece> &pieces, uint32_t lane) {
  const auto beyond = std::find_if(pieces.begin(), pieces.end(), [](const Piece &piece) { return piece.beyond; });
  if (beyond == pieces.end() || !warp.machine.options.checks)
    return;
  warp.trap_lane(lane, trap_kind::illegal,
                 "a store by TMA writes 16 bytes as a whole, " + std::to_string(beyond->bytes) +
                     " of which are beyond the extent " + std::to_string(map.extent[0]) +
                     " of dimension 0: expected an extent of a multiple of 16 bytes (measured on H200)");
}

void store_one(Warp &warp, const Instruction &in, uint32_t lane) {
  const TensorMap map = read_tensor_map(warp, warp.defined_address(in.operands[0], lane), lane, true);
  check_map_form(warp, in, map, lane);
  const TensorAccess access = access_of(warp, in, in.operands[0], lane);
  if (std::string violation = store_violation(map, access); !violation.empty())
    warp.trap_lane(lane, trap_kind::illegal, violation);
  check_access(warp, map, access, lane);
  if (std::string violation = store_map_violation(map); !violation.empty())
    warp.trap_lane(lane, trap_kind::descriptor, violation);
  if (std::string feature = store_unconfirmed(map); !feature.empty() && in.settings[Operation] < 0)
    warp.unconfirmed(feature);
  const MemoryLocation location =
      locate_image(warp, in.operands[1], Space::SharedCta, image_bytes(map, access), image_alignment, lane);
  const Transfer transfer = plan_transfer(map, access, static_cast<uint32_t>(location.offset));
  check_granules(warp, map, transfer.pieces, lane);
  check_global_pieces(warp, transfer.pieces, true, lane);
  submit_store(warp, lane, transfer, combination(warp, in, map, lane));
}

Outcome tensor_store(Warp &warp, const Instruction &in) {
  for_each_lane(warp.mask, [&](uint32_t lane) { store_one(warp, in, lane); });
  return Outcome::Next;
}

/// A prefetch has no effect in the simulator, but its tensor map and operands are checked.
Outcome tensor_prefetch(Warp &warp, const Instruction &in) {
  for_each_lane(warp.mask, [&](uint32_t lane) {
    const TensorMap map = read_tensor_map(warp, warp.defined_address(in.operands[0], lane), lane);
    check_map_form(warp, in, map, lane);
    check_access(warp, map, access_of(warp, in, in.operands[0], lane), lane);
  });
  return Outcome::Next;
}

/// Takes .multicast::cluster and .cta_group.
void decode_destinations(Decoder &decoder, bool to_cluster) {
  Instruction &in = decoder.instruction;
  in.settings[Multicast] = decoder.take("multicast::cluster");
  if (in.settings[Multicast] && !to_cluster)
    decoder.malformed("expected a destination in .shared::cluster with .multicast::cluster, got .shared::cta");
  in.settings[CtaGroup] = 1;
  for (int group : {1, 2})
    if (const std::string modifier = "cta_group::" + std::to_string(group); decoder.take(modifier)) {
      decoder.expect_target(Targets::Tcgen05, "." + modifier);
      in.settings[CtaGroup] = group;
    }
}

Execute decode_load(Decoder &decoder) {
  Instruction &in = decoder.instruction;
  const bool to_cluster = decoder.take("shared::cluster");
  if (!to_cluster && !decoder.take("shared::cta"))
    decoder.malformed("expected a destination in .shared::cluster or .shared::cta");
  in.space = to_cluster ? Space::SharedCluster : Space::SharedCta;
  decode_rank_and_mode(decoder, to_cluster ? CopyDirection::ToCluster : CopyDirection::ToCta);
  decode_destinations(decoder, to_cluster);
  decoder.address(0);
  decode_map_operand(decoder, 1);
  decoder.address(2);
  size_t next = decode_information(decoder, 3);
  if (in.settings[Multicast]) {
    in.settings[Multicast] = static_cast<int32_t>(next);
    decoder.source(next++, Type::B16);
  }
  decode_cache_policy(decoder, next);
  return tensor_load;
}

Execute decode_store(Decoder &decoder, int operation) {
  if (!decoder.take("bulk_group") || !(decoder.take("shared::cta") || decoder.take("shared")))
    decoder.malformed("expected .global.shared::cta and .bulk_group");
  decoder.instruction.settings[Operation] = operation;
  decode_rank_and_mode(decoder, operation < 0 ? CopyDirection::ToGlobal : CopyDirection::Reduce);
  decode_map_operand(decoder, 0);
  decoder.address(1);
  decode_cache_policy(decoder, 2);
  return tensor_store;
}

Execute decode_copy(Decoder &decoder) {
  if (!decoder.take("global"))
    decoder.malformed("expected .global as source or destination");
  const bool load = decoder.take("mbarrier::complete_tx::bytes");
  return load ? decode_load(decoder) : decode_store(decoder, -1);
}

Execute decode_reduce(Decoder &decoder) {
  decoder.take("global");
  return decode_store(decoder, static_cast<int>(take_reduction(decoder)));
}

Execute decode_prefetch(Decoder &decoder) {
  decoder.expect_modifiers({"L2", "global"});
  decode_rank_and_mode(decoder, CopyDirection::Prefetch);
  decode_map_operand(decoder, 0);
  decode_cache_policy(decoder, decode_information(decoder, 1));
  return tensor_prefetch;
}

} // namespace

const OpcodeTable &tensor_copy_opcodes() {
  static const OpcodeTable table = {
      {"cp.async.bulk.tensor", OpcodeGroup::Tma, decode_copy},
      {"cp.reduce.async.bulk.tensor", OpcodeGroup::Tma, decode_reduce},
      {"cp.async.bulk.prefetch.tensor", OpcodeGroup::Tma, decode_prefetch},
  };
  return table;
}

} // namespace ptxsim
