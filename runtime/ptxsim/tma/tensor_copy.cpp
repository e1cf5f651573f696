// cp.async.bulk.tensor, cp.reduce.async.bulk.tensor and cp.async.bulk.prefetch.tensor (PTX ISA 9.7.9.27).
//
// settings of an instruction: the enumerators of Setting, in order.
#include "decoder.h"
#include "opcode.h"
#include "tma/reduction.h"
#include "tma/transfer.h"

namespace ptxsim {
namespace {

enum Setting : uint8_t { Rank, Mode, Multicast, CtaGroup, Operation };
enum class CopyMode : int32_t { Tile, Gather4 };

/// Alignment of the shared memory of a tensor copy (CUDA C++ Programming Guide).
constexpr uint32_t image_alignment = 128;

/// `rows` is the mode of this direction that copies four rows: tile::gather4 or tile::scatter4.
void decode_rank_and_mode(Decoder &decoder, const char *rows) {
  for (const char *mode : {"im2col", "im2col::w", "im2col::w::128", "im2col_no_offs"})
    if (decoder.has(mode))
      decoder.unsupported(std::string("load mode .") + mode);
  const int rank = decoder.take_one_of({"1d", "2d", "3d", "4d", "5d"});
  if (rank < 0)
    decoder.malformed("expected .1d, .2d, .3d, .4d or .5d");
  decoder.instruction.settings[Rank] = rank + 1;
  const bool gather = decoder.take(rows);
  for (const char *other : {"tile::gather4", "tile::scatter4"})
    if (decoder.has(other))
      decoder.malformed(std::string("expected .") + rows + " in this direction, got ." + other);
  decoder.instruction.settings[Mode] = static_cast<int32_t>(gather ? CopyMode::Gather4 : CopyMode::Tile);
  if (!gather)
    decoder.take("tile");
  if (gather && rank != 1)
    decoder.malformed(std::string("expected .2d with .") + rows);
}

uint32_t coordinate_count(const Instruction &in) {
  return in.settings[Mode] == static_cast<int32_t>(CopyMode::Gather4) ? maximum_rank : in.settings[Rank];
}

/// [map, {c0, c1, ...}]
void decode_map_operand(Decoder &decoder, size_t index) {
  decoder.address(index);
  Operand &map = decoder.instruction.operands[index];
  if (map.elements.size() == 1 && map.elements[0].kind == Operand::Kind::Vector)
    map.elements = std::vector<Operand>(map.elements[0].elements);
  if (map.elements.size() != coordinate_count(decoder.instruction))
    decoder.malformed("expected " + std::to_string(coordinate_count(decoder.instruction)) + " coordinates, got " +
                      std::to_string(map.elements.size()));
  for (Operand &coordinate : map.elements)
    decoder.source(coordinate, Type::S32);
}

Coordinates coordinates_of(Warp &warp, const Operand &map, uint32_t lane) {
  Coordinates coordinates{};
  for (size_t i = 0; i < map.elements.size(); ++i) {
    warp.require(map.elements[i]);
    coordinates[i] = warp.lanes<int32_t>(map.elements[i])[lane];
  }
  return coordinates;
}

void check_map_form(Warp &warp, const Instruction &in, const TensorMap &map, uint32_t lane) {
  if (map.rank != static_cast<uint32_t>(in.settings[Rank]))
    warp.trap_lane(lane, trap_kind::descriptor,
                   "expected a tensor map of rank " + std::to_string(in.settings[Rank]) + ", got rank " +
                       std::to_string(map.rank));
  if (in.settings[Mode] == static_cast<int32_t>(CopyMode::Gather4) && map.box[1] != 1)
    warp.trap_lane(lane, trap_kind::descriptor,
                   "expected a box of one row for gather4 and scatter4, got " + std::to_string(map.box[1]));
}

uint32_t image_bytes(const Instruction &in, const TensorMap &map) {
  const bool gather = in.settings[Mode] == static_cast<int32_t>(CopyMode::Gather4);
  return gather ? 4 * map.box[0] * element_bytes(map.element) : tile_bytes(map);
}

/// The pieces of the copy whose shared memory begins at `shared_offset`.
Transfer plan_transfer(const Instruction &in, const TensorMap &map, const Coordinates &coordinates,
                       uint32_t shared_offset) {
  Transfer transfer;
  transfer.shared_offset = shared_offset;
  transfer.bytes = image_bytes(in, map);
  const bool gather = in.settings[Mode] == static_cast<int32_t>(CopyMode::Gather4);
  const std::vector<BoxRow> rows = gather ? gather_rows(map, coordinates) : tile_rows(map, coordinates);
  transfer.pieces = row_pieces(map, rows, shared_offset);
  return transfer;
}

/// The CTA whose mbarrier a copy to `destination` signals. With cta_group::2 it is, in each pair, the CTA whose rank
/// has the parity of the rank of `named`.
Cta &signalled_cta(Warp &warp, const Instruction &in, Cta &destination, Cta &named, uint32_t lane) {
  if (in.settings[CtaGroup] == 2)
    return *warp.cluster.ctas[(destination.rank & ~1u) | (named.rank & 1)];
  if (!in.settings[Multicast] && &named != &destination)
    warp.trap_lane(lane, trap_kind::illegal,
                   "expected the mbarrier in the CTA of the destination, rank " + std::to_string(destination.rank) +
                       ", got rank " + std::to_string(named.rank));
  return destination;
}

/// Hardware refuses other columns; the PTX ISA does not state it (Triton, tutorial 09 of gluon).
void check_gather_column(Warp &warp, const Instruction &in, const TensorMap &map, const Coordinates &coordinates,
                         uint32_t lane) {
  if (in.settings[Mode] != static_cast<int32_t>(CopyMode::Gather4))
    return;
  const int64_t offset_bytes = coordinates[0] * element_bytes(map.element);
  if (offset_bytes % 16)
    warp.trap_lane(lane, trap_kind::illegal,
                   "expected the column of gather4 at a multiple of 16 bytes, got " + std::to_string(offset_bytes));
}

void load_one(Warp &warp, const Instruction &in, uint32_t lane) {
  const TensorMap map = read_tensor_map(warp, warp.defined_address(in.operands[1], lane), lane);
  check_map_form(warp, in, map, lane);
  const Coordinates coordinates = coordinates_of(warp, in.operands[1], lane);
  check_gather_column(warp, in, map, coordinates, lane);
  const uint64_t address = warp.defined_address(in.operands[0], lane);
  const MemoryLocation location = warp.locate_shared(address, image_bytes(in, map), image_alignment, lane);
  Transfer transfer = plan_transfer(in, map, coordinates, static_cast<uint32_t>(location.offset));
  transfer.rounds_to_tf32 = map.element == TensorElement::TF32;
  check_global_pieces(warp, transfer.pieces, false, lane);
  const MbarrierLocation mbarrier = locate_mbarrier(warp, in.operands[2], lane);
  if (!in.settings[Multicast]) {
    submit_load(warp, lane, *location.cta, transfer, signalled_cta(warp, in, *location.cta, *mbarrier.cta, lane),
                mbarrier.offset);
    return;
  }
  for (Cta *destination : multicast_ctas(warp, in.operands[3], lane))
    submit_load(warp, lane, *destination, transfer, signalled_cta(warp, in, *destination, *mbarrier.cta, lane),
                mbarrier.offset);
}

Outcome tensor_load(Warp &warp, const Instruction &in) {
  for_each_lane(warp.mask, [&](uint32_t lane) { load_one(warp, in, lane); });
  return Outcome::Next;
}

void check_store_coordinates(Warp &warp, const Instruction &in, const Coordinates &coordinates, uint32_t lane) {
  // PTX ISA: the coordinates of a copy to global memory are not negative; scatter4 drops rows outside.
  for (uint32_t i = 0; i < coordinate_count(in); ++i)
    if (coordinates[i] < 0)
      warp.trap_lane(lane, trap_kind::illegal,
                     "expected coordinates of at least 0 in a tensor store, got " + std::to_string(coordinates[i]) +
                         " in dimension " + std::to_string(i));
}

Combine combination(Warp &warp, const Instruction &in, const TensorMap &map, uint32_t lane) {
  if (in.settings[Operation] < 0)
    return nullptr;
  const Type type = reduction_type(map.element);
  const Combine combine = find_reduction(static_cast<Reduction>(in.settings[Operation]), type);
  if (!combine)
    warp.trap_lane(lane, trap_kind::descriptor,
                   std::string("expected an element type that the reduction supports, got ") +
                       element_name(map.element));
  return combine;
}

void store_one(Warp &warp, const Instruction &in, uint32_t lane) {
  const TensorMap map = read_tensor_map(warp, warp.defined_address(in.operands[0], lane), lane);
  check_map_form(warp, in, map, lane);
  const Coordinates coordinates = coordinates_of(warp, in.operands[0], lane);
  check_store_coordinates(warp, in, coordinates, lane);
  if (map.element == TensorElement::TF32)
    warp.unconfirmed("the rounding of a store through a tensor map of element type tf32");
  const uint64_t address = warp.defined_address(in.operands[1], lane);
  const MemoryLocation location = warp.locate_shared(address, image_bytes(in, map), image_alignment, lane);
  if (location.cta != &warp.cta)
    warp.trap_lane(lane, trap_kind::illegal, "expected a source in the shared memory of the issuing CTA");
  const Transfer transfer = plan_transfer(in, map, coordinates, static_cast<uint32_t>(location.offset));
  check_global_pieces(warp, transfer.pieces, true, lane);
  submit_store(warp, lane, transfer, combination(warp, in, map, lane));
}

Outcome tensor_store(Warp &warp, const Instruction &in) {
  for_each_lane(warp.mask, [&](uint32_t lane) { store_one(warp, in, lane); });
  return Outcome::Next;
}

/// A prefetch has no effect in the simulator, but its tensor map is checked.
Outcome tensor_prefetch(Warp &warp, const Instruction &in) {
  for_each_lane(warp.mask, [&](uint32_t lane) {
    check_map_form(warp, in, read_tensor_map(warp, warp.defined_address(in.operands[0], lane), lane), lane);
    coordinates_of(warp, in.operands[0], lane);
  });
  return Outcome::Next;
}

Execute decode_load(Decoder &decoder) {
  Instruction &in = decoder.instruction;
  if (!decoder.take("shared::cluster") && !decoder.take("shared::cta"))
    decoder.malformed("expected a destination in .shared::cluster or .shared::cta");
  decode_rank_and_mode(decoder, "tile::gather4");
  in.settings[Multicast] = decoder.take("multicast::cluster");
  in.settings[CtaGroup] = decoder.take("cta_group::2") ? 2 : 1;
  decoder.take("cta_group::1");
  decoder.address(0);
  decode_map_operand(decoder, 1);
  decoder.address(2);
  size_t next = 3;
  if (in.settings[Multicast])
    decoder.source(next++, Type::B16);
  decode_cache_policy(decoder, next);
  return tensor_load;
}

Execute decode_store(Decoder &decoder, int operation) {
  if (!decoder.take("bulk_group") || !(decoder.take("shared::cta") || decoder.take("shared")))
    decoder.malformed("expected .global.shared::cta and .bulk_group");
  decoder.instruction.settings[Operation] = operation;
  decode_rank_and_mode(decoder, "tile::scatter4");
  if (operation >= 0 && decoder.instruction.settings[Mode] != static_cast<int32_t>(CopyMode::Tile))
    decoder.malformed("expected no .tile::scatter4 in a reduction");
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
  decode_rank_and_mode(decoder, "tile::gather4");
  decode_map_operand(decoder, 0);
  decode_cache_policy(decoder, 1);
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
