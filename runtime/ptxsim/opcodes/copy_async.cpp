// cp.async: copies of 4, 8 or 16 bytes from global to shared memory (PTX ISA 9.7.9.25.3), written through the generic
// proxy.
#include "execution/lanewise.h"
#include "memory/mbarrier_operations.h"

#include <algorithm>
#include <cstring>

namespace ptxsim {

namespace {

/// settings: bytes; the kind of operand 3; pending groups, -1 for all; .noinc.
enum Setting { Size, OptionalOperand, Pending, NoIncrement };
enum class OptionalKind : int32_t { None, SourceSize, IgnoreSource };

struct Piece {
  uint8_t *to;
  const uint8_t *from;
  uint32_t bytes; // of the source; the rest of the destination is zero
};

Outcome copy(Warp &warp, const Instruction &in) {
  const Operand &to = in.operands[0], &from = in.operands[1];
  warp.require(to);
  warp.require(from);
  uint32_t size = uint32_t(in.settings[Size]);
  AsyncQueue &queue = warp.queue(QueueKind::CopyAsync);
  Epoch position = queue.issue(warp.clock.known);
  Actor actor = warp.queue_actor(queue, position);
  actor.asynchronous = false;
  std::vector<Piece> pieces;
  for_each_lane(warp.mask, [&](uint32_t lane) {
    uint32_t bytes = size;
    if (OptionalKind(in.settings[OptionalOperand]) == OptionalKind::SourceSize) {
      warp.require(in.operands[3]);
      bytes = uint32_t(warp.bits(in.operands[3], lane));
      if (bytes > size)
        warp.trap_lane(lane, trap_kind::illegal,
                       "the source size of cp.async exceeds its copy size: " + std::to_string(bytes) + " and " +
                           std::to_string(size) + " bytes");
    } else if (OptionalKind(in.settings[OptionalOperand]) == OptionalKind::IgnoreSource) {
      warp.require(in.operands[3]);
      bytes = warp.predicate(in.operands[3]) >> lane & 1 ? 0 : size;
    }
    MemoryLocation target = warp.locate(Space::SharedCta, warp.address(to, lane), size, size, lane, true);
    MemoryLocation source;
    if (bytes)
      source = warp.locate(Space::Global, warp.address(from, lane), bytes, size, lane, false);
    warp.check_shared_write(*target.cta, target.offset, size, actor, lane);
    pieces.push_back({target.bytes, source.bytes, bytes});
    queue.latest_copies[lane] = position;
  });
  warp.machine.traffic.global_read += uint64_t(size) * pieces.size();
  warp.cluster.async.submit({warp.origin(), &queue, true, [=, &queue, &warp] {
                               for (const Piece &piece : pieces) {
                                 std::memset(piece.to, 0, size);
                                 if (piece.bytes)
                                   std::memcpy(piece.to, piece.from, piece.bytes);
                               }
                               queue.unfinished.erase(position);
                               ++warp.cluster.progress;
                             }});
  return Outcome::Next;
}

Execute decode_copy(Decoder &d) {
  Instruction &in = d.instruction;
  bool bypass = d.take("cg");
  d.take("ca");
  d.take("shared::cta");
  d.take("shared");
  d.expect_modifiers({"global"});
  bool hint = d.take("L2::cache_hint");
  while (d.take_prefixed("L2::")) {
  }
  d.expect_operands(3, hint ? 5 : 4);
  d.address(0);
  d.address(1);
  int64_t size = d.immediate(2);
  if (size != 16 && (bypass || (size != 4 && size != 8)))
    d.malformed("cp.async copies 4, 8 or 16 bytes, and 16 with .cg; found " + std::to_string(size));
  in.settings[Size] = int32_t(size);
  if (d.count() > 3 && !(hint && d.count() == 4)) {
    bool ignore = in.operands[3].kind == Operand::Kind::Predicate;
    in.settings[OptionalOperand] = int32_t(ignore ? OptionalKind::IgnoreSource : OptionalKind::SourceSize);
    if (ignore)
      d.predicate(3);
    else
      d.source(3, Type::U32);
  }
  if (hint)
    d.source(d.count() - 1, Type::B64);
  return &copy;
}

Outcome commit(Warp &warp, const Instruction &) {
  AsyncQueue &queue = warp.queue(QueueKind::CopyAsync);
  queue.groups.push_back(queue.issued);
  queue.group_lanes.push_back(warp.mask);
  return Outcome::Next;
}

/// The last position of all groups of these lanes but the newest `pending` ones.
Epoch group_position(const AsyncQueue &queue, uint32_t lanes, uint32_t pending) {
  for (size_t i = queue.groups.size(); i-- > 0;)
    if ((queue.group_lanes[i] & lanes) && pending-- == 0)
      return queue.groups[i];
  return 0;
}

Outcome wait(Warp &warp, const Instruction &in) {
  AsyncQueue *queue = warp.find_queue(QueueKind::CopyAsync);
  if (!queue)
    return Outcome::Next;
  Epoch position =
      in.settings[Pending] < 0 ? queue->issued : group_position(*queue, warp.mask, uint32_t(in.settings[Pending]));
  if (!queue->finished(position))
    return Outcome::Wait;
  warp.clock.known.happened.raise(queue->agent, position);
  return Outcome::Next;
}

/// Arrives on the mbarrier when all earlier copies of the thread are complete: these are ordered before, and no other
/// accesses of the thread, whose own arrival has a release. Without .noinc the pending count of the phase is
/// incremented at once.
Outcome arrive(Warp &warp, const Instruction &in) {
  warp.require(in.operands[0]);
  AsyncQueue &queue = warp.queue(QueueKind::CopyAsync);
  Epoch position = queue.issue(warp.clock.known);
  std::vector<std::pair<Cta *, uint64_t>> objects;
  for_each_lane(warp.mask, [&](uint32_t lane) {
    MemoryLocation location = warp.locate(in.space, warp.address(in.operands[0], lane), 8, 8, lane, true);
    if (location.cta != &warp.cta)
      warp.trap_lane(lane, trap_kind::mbarrier,
                     "cp.async.mbarrier.arrive needs an mbarrier in the shared memory of its CTA");
    Mbarrier &mbarrier = location.cta->mbarrier(warp, location.offset, lane);
    if (!in.settings[NoIncrement])
      ++mbarrier.pending;
    objects.push_back({location.cta, location.offset});
    queue.latest_copies[lane] = 0;
  });
  Knowledge published;
  published.happened.raise(queue.agent, position);
  Origin origin = warp.origin();
  warp.cluster.async.submit({origin, &queue, true, [=, &queue, &warp] {
                               queue.unfinished.erase(position);
                               for (const auto &[cta, offset] : objects)
                                 signal_mbarrier(origin, *cta, offset, 1, published);
                               ++warp.cluster.progress;
                             }});
  return Outcome::Next;
}

} // namespace

const OpcodeTable &copy_async_opcodes() {
  static const OpcodeTable table = {
      {"cp.async", OpcodeGroup::Copy, decode_copy},
      {"cp.async.commit_group", OpcodeGroup::Copy, decode_without_operands<commit>},
      {"cp.async.wait_group", OpcodeGroup::Copy,
       [](Decoder &d) {
         d.expect_operands(1, 1);
         const int64_t pending = d.immediate(0);
         if (pending < 0)
           d.malformed("expected a non-negative number of groups");
         d.instruction.settings[Pending] = int32_t(std::min<int64_t>(pending, INT32_MAX));
         return &wait;
       }},
      {"cp.async.wait_all", OpcodeGroup::Copy,
       [](Decoder &d) {
         d.expect_operands(0, 0);
         d.instruction.settings[Pending] = -1;
         return &wait;
       }},
      {"cp.async.mbarrier.arrive", OpcodeGroup::Copy,
       [](Decoder &d) {
         d.instruction.settings[NoIncrement] = d.take("noinc");
         d.instruction.space = d.take_space();
         d.take("b64");
         d.expect_operands(1, 1);
         d.address(0);
         return &arrive;
       }},
  };
  return table;
}

} // namespace ptxsim
