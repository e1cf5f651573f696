// st.async, red.async: stores into the shared memory of a CTA of the cluster that complete on its mbarrier; and
// st.bulk (PTX ISA 9.7.9.12, 9.7.9.13, 9.7.13.8).
#include "execution/lanewise.h"
#include "memory/mbarrier_operations.h"
#include "opcodes/atomic_operation.h"

#include <cstring>

namespace ptxsim {

namespace {

/// settings: the AtomicOperation, which is Exchange for st.async; elements.
enum Setting { Operation, Elements };

Outcome store(Warp &warp, const Instruction &in) {
  const Operand &to = in.operands[0], &value = in.operands[1], &signal = in.operands[2];
  warp.require(to);
  warp.require(signal);
  for (const Operand &element : value.elements)
    warp.require(element);
  uint32_t size = type_size(in.type), count = uint32_t(in.settings[Elements]), total = size * count;
  for_each_lane(warp.mask, [&](uint32_t lane) {
    MemoryLocation location = warp.locate(Space::SharedCluster, warp.address(to, lane), total, total, lane, true);
    MemoryLocation object = warp.locate(Space::SharedCluster, warp.address(signal, lane), 8, 8, lane, true);
    if (object.cta != location.cta)
      warp.trap_lane(lane, trap_kind::mbarrier,
                     "the mbarrier of '" + in.text + "' is in another CTA than its destination");
    Mbarrier &mbarrier = mbarrier_for_async(warp, *object.cta, object.offset, lane);
    Actor actor = warp.transaction_actor(mbarrier);
    actor.asynchronous = false;
    actor.strong = AtomicOperation(in.settings[Operation]) != AtomicOperation::Exchange;
    warp.check_shared_write(*location.cta, location.offset, total, actor, lane);
    std::vector<uint64_t> values;
    for (const Operand &element : value.elements)
      values.push_back(warp.bits(element, lane));
    Origin origin = warp.origin(lane);
    uint64_t phase = mbarrier.phase;
    const auto operation = AtomicOperation(in.settings[Operation]);
    const Type type = in.type;
    warp.cluster.async.submit({origin, nullptr, false, [=] {
                                 for (size_t i = 0; i < values.size(); ++i) {
                                   uint64_t old = 0;
                                   std::memcpy(&old, location.bytes + i * size, size);
                                   uint64_t result = apply_atomic(operation, type, old, values[i]);
                                   std::memcpy(location.bytes + i * size, &result, size);
                                 }
                                 complete_transactions(origin, *object.cta, object.offset, total, phase);
                                 ++object.cta->cluster.progress;
                               }});
  });
  return Outcome::Next;
}

Execute decode_store(Decoder &d, bool reduces) {
  Instruction &in = d.instruction;
  d.take_one_of({"weak", "relaxed"});
  d.take("cluster");
  d.take("shared::cluster");
  if (!d.take("mbarrier::complete_tx::bytes"))
    d.unsupported("a form without .mbarrier::complete_tx::bytes");
  in.settings[Operation] = int32_t(AtomicOperation::Exchange);
  if (reduces) {
    static constexpr AtomicOperation operations[] = {AtomicOperation::And, AtomicOperation::Or,  AtomicOperation::Xor,
                                                     AtomicOperation::Add, AtomicOperation::Min, AtomicOperation::Max,
                                                     AtomicOperation::Inc, AtomicOperation::Dec};
    const int index = d.take_one_of({"and", "or", "xor", "add", "min", "max", "inc", "dec"});
    if (index < 0)
      d.malformed("'" + in.text + "' has no operation");
    in.settings[Operation] = int32_t(operations[index]);
  }
  int vector = d.take_one_of({"v2", "v4"});
  in.settings[Elements] = vector < 0 ? 1 : 2 << vector;
  in.type = d.take_type();
  d.expect_operands(3, 3);
  d.address(0);
  d.vector(1, in.type, size_t(in.settings[Elements]), true);
  d.address(2);
  return &store;
}

/// Fills a range of shared memory with zeros.
Outcome store_bulk(Warp &warp, const Instruction &in) {
  const Operand &to = in.operands[0], &size = in.operands[1];
  warp.require(to);
  warp.require(size);
  for_each_lane(warp.mask, [&](uint32_t lane) {
    uint64_t bytes = warp.bits(size, lane);
    if (bytes % 8 || !bytes)
      warp.trap_lane(lane, trap_kind::illegal, "st.bulk takes a multiple of 8 bytes, found " + std::to_string(bytes));
    MemoryLocation location = warp.locate(in.space, warp.address(to, lane), bytes, 8, lane, true);
    if (location.space != Space::SharedCta)
      warp.trap_lane(lane, trap_kind::illegal, "st.bulk writes shared memory only");
    warp.check_shared_write(*location.cta, location.offset, bytes, warp.actor(), lane);
    std::memset(location.bytes, 0, bytes);
    warp.machine.changed();
  });
  return Outcome::Next;
}

Execute decode_store_bulk(Decoder &d) {
  d.take("weak");
  d.instruction.space = d.take_space();
  d.expect_operands(2, 3);
  d.address(0);
  Operand &size = d.instruction.operands[1];
  d.source(size, size.size == 4 ? Type::U32 : Type::U64);
  if (d.count() == 3 && d.immediate(2) != 0)
    d.malformed("st.bulk stores zeros only");
  return &store_bulk;
}

} // namespace

const OpcodeTable &store_async_opcodes() {
  static const OpcodeTable table = {
      {"st.async", OpcodeGroup::Memory, [](Decoder &d) { return decode_store(d, false); }},
      {"red.async", OpcodeGroup::Atomic, [](Decoder &d) { return decode_store(d, true); }},
      {"st.bulk", OpcodeGroup::Memory, decode_store_bulk},
  };
  return table;
}

} // namespace ptxsim
