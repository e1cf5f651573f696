// cp.async.bulk, cp.reduce.async.bulk, their prefetch and their groups (PTX ISA 9.7.9.25).
//
// settings of an instruction: the enumerators of Setting, in order.
#include "memory/mbarrier_operations.h"
#include "program/decoder.h"
#include "program/opcode.h"
#include "tma/reduction.h"
#include "tma/transfer.h"

#include <algorithm>

namespace ptxsim {
namespace {

enum Setting : uint8_t { Multicast, Operation, ReadOnly };

/// Addresses and sizes of bulk copies are multiples of 16 bytes.
constexpr uint32_t bulk_alignment = 16;

uint32_t size_of(Warp &warp, const Operand &operand, uint32_t lane) {
  warp.require(operand);
  const auto bytes = static_cast<uint32_t>(warp.bits(operand, lane));
  if (bytes % bulk_alignment)
    warp.trap_lane(lane, trap_kind::misaligned,
                   "expected a size of a multiple of 16 bytes, got " + std::to_string(bytes));
  return bytes;
}

/// A copy of consecutive bytes, divided into pieces that may complete separately.
Transfer linear_transfer(uint32_t shared_offset, uint64_t global, uint32_t bytes) {
  constexpr uint32_t piece_bytes = 256;
  Transfer transfer{{}, shared_offset, bytes};
  for (uint32_t at = 0; at < bytes; at += piece_bytes)
    transfer.pieces.push_back({shared_offset + at, global + at, std::min(piece_bytes, bytes - at), true});
  return transfer;
}

void load_one(Warp &warp, const Instruction &in, uint32_t lane) {
  const uint32_t bytes = size_of(warp, in.operands[2], lane);
  const MemoryLocation to = locate_image(warp, in.operands[0], in.space, bytes, bulk_alignment, lane);
  const uint64_t from = warp.defined_address(in.operands[1], lane);
  warp.locate(Space::Global, from, bytes, bulk_alignment, lane, false);
  const MbarrierLocation mbarrier = locate_mbarrier(warp, in.operands[3], lane);
  const Transfer transfer = linear_transfer(static_cast<uint32_t>(to.offset), from, bytes);
  std::vector<Cta *> ctas = {to.cta};
  if (in.settings[Multicast])
    ctas = multicast_ctas(warp, in.operands[4], lane);
  else if (mbarrier.cta != to.cta)
    warp.trap_lane(lane, trap_kind::illegal, "expected the mbarrier in the CTA of the destination");
  std::vector<Destination> destinations;
  for (Cta *cta : ctas)
    destinations.push_back({cta, cta});
  submit_load(warp, lane, transfer, destinations, mbarrier.offset);
}

Outcome bulk_load(Warp &warp, const Instruction &in) {
  for_each_lane(warp.mask, [&](uint32_t lane) { load_one(warp, in, lane); });
  return Outcome::Next;
}

/// The reduction of the instruction; null for a plain copy.
Combine combination(const Instruction &in) {
  if (in.settings[Operation] < 0)
    return nullptr;
  return find_reduction(static_cast<Reduction>(in.settings[Operation]), in.type);
}

void store_one(Warp &warp, const Instruction &in, uint32_t lane) {
  const uint32_t bytes = size_of(warp, in.operands[2], lane);
  const uint64_t to = warp.defined_address(in.operands[0], lane);
  warp.locate(Space::Global, to, bytes, bulk_alignment, lane, true);
  const MemoryLocation from = locate_image(warp, in.operands[1], Space::SharedCta, bytes, bulk_alignment, lane);
  const Combine combine = combination(in);
  submit_store(warp, lane, linear_transfer(static_cast<uint32_t>(from.offset), to, bytes), combine);
}

Outcome bulk_store(Warp &warp, const Instruction &in) {
  for_each_lane(warp.mask, [&](uint32_t lane) { store_one(warp, in, lane); });
  return Outcome::Next;
}

/// Copies or reduces shared memory of one CTA into that of another, completing on an mbarrier there.
void copy_between_ctas(Warp &warp, const Instruction &in, uint32_t lane) {
  const uint32_t bytes = size_of(warp, in.operands[2], lane);
  const MemoryLocation to = locate_image(warp, in.operands[0], Space::SharedCluster, bytes, bulk_alignment, lane);
  const MemoryLocation from = locate_image(warp, in.operands[1], Space::SharedCta, bytes, bulk_alignment, lane);
  const MbarrierLocation mbarrier = locate_mbarrier(warp, in.operands[3], lane);
  if (mbarrier.cta != to.cta)
    warp.trap_lane(lane, trap_kind::illegal, "expected the mbarrier in the CTA of the destination");
  const Mbarrier &object = mbarrier_for_async(warp, *mbarrier.cta, mbarrier.offset, lane);
  const Actor actor = warp.transaction_actor(object);
  warp.check_shared_read(*from.cta, from.offset, bytes, actor, lane);
  warp.check_shared_write(*to.cta, to.offset, bytes, actor, lane);
  const Combine combine = combination(in);
  const Origin origin = warp.origin(lane);
  const uint64_t phase = object.phase;
  warp.cluster.async.submit({origin, nullptr, false, [=] {
                               if (combine)
                                 combine(to.bytes, from.bytes, bytes);
                               else
                                 std::memmove(to.bytes, from.bytes, bytes);
                               complete_transactions(origin, *mbarrier.cta, mbarrier.offset, bytes, phase);
                             }});
}

Outcome bulk_copy_between_ctas(Warp &warp, const Instruction &in) {
  for_each_lane(warp.mask, [&](uint32_t lane) { copy_between_ctas(warp, in, lane); });
  return Outcome::Next;
}

Outcome bulk_prefetch(Warp &warp, const Instruction &in) {
  for_each_lane(warp.mask, [&](uint32_t lane) {
    const uint32_t bytes = size_of(warp, in.operands[1], lane);
    warp.locate(Space::Global, warp.defined_address(in.operands[0], lane), bytes, bulk_alignment, lane, false);
  });
  return Outcome::Next;
}

Outcome commit_group(Warp &warp, const Instruction &) {
  for_each_lane(warp.mask, [&](uint32_t lane) {
    if (AsyncQueue *queue = warp.find_queue(QueueKind::BulkGroup, lane))
      queue->groups.push_back(queue->issued);
  });
  return Outcome::Next;
}

/// A lane that has issued no bulk store does not wait.
Outcome wait_group(Warp &warp, const Instruction &in) {
  const auto pending = static_cast<uint32_t>(in.operands[0].value);
  bool done = true;
  for_each_lane(warp.mask, [&](uint32_t lane) {
    if (const AsyncQueue *queue = warp.find_queue(QueueKind::BulkGroup, lane)) {
      const Epoch through = queue->group_position(pending);
      done &= in.settings[ReadOnly] ? queue->was_read(through) : queue->finished(through);
    }
  });
  if (!done)
    return Outcome::Wait;
  for_each_lane(warp.mask, [&](uint32_t lane) {
    if (const AsyncQueue *queue = warp.find_queue(QueueKind::BulkGroup, lane))
      warp.clock.known.happened.raise(queue->agent, queue->group_position(pending));
  });
  return Outcome::Next;
}

void decode_addresses_and_size(Decoder &decoder) {
  decoder.address(0);
  decoder.address(1);
  decoder.source(2, Type::B32);
}

/// Decodes the operation and type of a reduction; the operation of a plain copy is -1.
void decode_operation(Decoder &decoder, bool reduces) {
  decoder.instruction.settings[Operation] = -1;
  if (!reduces)
    return;
  const Reduction operation = take_reduction(decoder);
  decoder.instruction.settings[Operation] = static_cast<int32_t>(operation);
  decoder.take("noftz");
  decoder.instruction.type = decoder.take_type();
  if (!find_reduction(operation, decoder.instruction.type))
    decoder.malformed("expected an operation and type that cp.reduce.async.bulk supports");
}

Execute decode_to_global(Decoder &decoder, bool reduces) {
  if (!decoder.take("global") || !decoder.take("shared::cta") || !decoder.take("bulk_group"))
    decoder.malformed("expected .global.shared::cta with .bulk_group");
  decode_operation(decoder, reduces);
  decode_addresses_and_size(decoder);
  decode_cache_policy(decoder, 3);
  return bulk_store;
}

Execute decode_to_shared(Decoder &decoder) {
  decoder.instruction.settings[Operation] = -1;
  decoder.instruction.settings[Multicast] = decoder.take("multicast::cluster");
  decode_addresses_and_size(decoder);
  decoder.address(3);
  size_t next = 4;
  if (decoder.instruction.settings[Multicast])
    decoder.source(next++, Type::B16);
  decode_cache_policy(decoder, next);
  return bulk_load;
}

Execute decode_between_ctas(Decoder &decoder, bool reduces) {
  decode_operation(decoder, reduces);
  decode_addresses_and_size(decoder);
  decoder.address(3);
  decoder.expect_operands(4, 4);
  return bulk_copy_between_ctas;
}

Execute decode_bulk(Decoder &decoder, bool reduces) {
  if (decoder.has("cp_mask"))
    decoder.unsupported("cp.async.bulk with .cp_mask");
  if (!decoder.take("mbarrier::complete_tx::bytes"))
    return decode_to_global(decoder, reduces);
  const bool cluster = decoder.take("shared::cluster"), own = decoder.take("shared::cta");
  if (cluster && own)
    return decode_between_ctas(decoder, reduces);
  if (!(cluster || own) || !decoder.take("global") || reduces)
    decoder.malformed("expected .shared::cluster.global, .shared::cta.global or .shared::cluster.shared::cta");
  decoder.instruction.space = cluster ? Space::SharedCluster : Space::SharedCta;
  return decode_to_shared(decoder);
}

Execute decode_copy(Decoder &decoder) { return decode_bulk(decoder, false); }
Execute decode_reduce(Decoder &decoder) { return decode_bulk(decoder, true); }

Execute decode_prefetch(Decoder &decoder) {
  decoder.expect_modifiers({"L2", "global"});
  decoder.address(0);
  decoder.source(1, Type::B32);
  decode_cache_policy(decoder, 2);
  return bulk_prefetch;
}

Execute decode_wait(Decoder &decoder) {
  decoder.instruction.settings[ReadOnly] = decoder.take("read");
  decoder.expect_operands(1, 1);
  if (decoder.immediate(0) < 0)
    decoder.malformed("expected a non-negative number of groups");
  return wait_group;
}

} // namespace

const OpcodeTable &bulk_copy_opcodes() {
  static const OpcodeTable table = {
      {"cp.async.bulk", OpcodeGroup::Tma, decode_copy},
      {"cp.reduce.async.bulk", OpcodeGroup::Tma, decode_reduce},
      {"cp.async.bulk.prefetch", OpcodeGroup::Tma, decode_prefetch},
      {"cp.async.bulk.commit_group", OpcodeGroup::Tma, decode_without_operands<commit_group>},
      {"cp.async.bulk.wait_group", OpcodeGroup::Tma, decode_wait},
  };
  return table;
}

} // namespace ptxsim
