// mbarrier instructions (PTX ISA 9.7.13.15).
#include "execution/lanewise.h"
#include "memory/mbarrier_operations.h"

namespace ptxsim {

namespace {

/// settings: modifiers, and indices of operands.
enum Setting { Relaxed, ExpectBytes, Drop, NoComplete, Parity, CountOperand, AddressOperand, Blocks };

/// A token holds the phase before the arrival and its pending count. PTX does not specify its layout.
constexpr uint64_t token_pending_bits = 20;
uint64_t make_token(const Mbarrier &mbarrier) {
  return mbarrier.phase << token_pending_bits | uint64_t(mbarrier.pending);
}

MemoryLocation locate_object(Warp &warp, const Instruction &in, const Operand &address, uint32_t lane) {
  MemoryLocation location = warp.locate(in.space, warp.address(address, lane), 8, 8, lane, true);
  if (location.space != Space::SharedCta)
    warp.trap_lane(lane, trap_kind::mbarrier, "an mbarrier must be in shared memory");
  return location;
}

/// Traps unless the mbarrier is initialised before the instruction. Other uses of mbarriers do not race.
void check_initialised(Warp &warp, Cta &owner, uint64_t offset, uint32_t lane) {
  Mbarrier &mbarrier = owner.mbarrier(warp, offset, lane);
  if (!warp.machine.options.checks)
    return;
  if (&owner != &warp.cta)
    mbarrier_for_async(warp, owner, offset, lane);
  else if (mbarrier.init_epoch > warp.clock.known.happened[mbarrier.init_agent])
    warp.trap_lane(lane, trap_kind::race, "the initialisation of the mbarrier is not known to be complete",
                   {"initialised by line " + std::to_string(mbarrier.init_line)});
}

int64_t count_of(Warp &warp, const Instruction &in, uint32_t lane, int64_t default_count) {
  if (!in.settings[CountOperand])
    return default_count;
  return int64_t(warp.bits(in.operands[size_t(in.settings[CountOperand])], lane));
}

Outcome init(Warp &warp, const Instruction &in) {
  warp.require(in.operands[0]);
  warp.require(in.operands[1]);
  for_each_lane(warp.mask, [&](uint32_t lane) {
    MemoryLocation location = locate_object(warp, in, in.operands[0], lane);
    Cta &cta = *location.cta;
    if (&cta != &warp.cta)
      warp.trap_lane(lane, trap_kind::mbarrier, "mbarrier.init in the shared memory of another CTA");
    if (cta.mbarriers.count(uint32_t(location.offset)) && warp.machine.options.checks)
      warp.trap_lane(lane, trap_kind::mbarrier,
                     "mbarrier.init of an initialised mbarrier without mbarrier.inval in between",
                     {"initialised by line " + std::to_string(cta.mbarriers[uint32_t(location.offset)].init_line)});
    warp.check_shared_write(cta, location.offset, 8, warp.actor(), lane);
    Mbarrier &mbarrier = cta.retired_mbarriers[uint32_t(location.offset)];
    if (!mbarrier.agent)
      mbarrier.agent = warp.cluster.new_agent("mbarrier at " + std::to_string(location.offset) + " of CTA " +
                                              std::to_string(cta.rank));
    std::string wrong = mbarrier.init(int64_t(warp.bits(in.operands[1], lane)));
    if (!wrong.empty())
      warp.trap_lane(lane, trap_kind::mbarrier, wrong);
    mbarrier.init_agent = warp.clock.agent;
    mbarrier.init_epoch = warp.clock.now();
    mbarrier.init_line = mbarrier.line = in.line;
    cta.mbarriers[uint32_t(location.offset)] = mbarrier;
    cta.holds_mbarrier[location.offset / 16] = true;
    warp.machine.changed();
  });
  return Outcome::Next;
}

Outcome invalidate(Warp &warp, const Instruction &in) {
  warp.require(in.operands[0]);
  for_each_lane(warp.mask, [&](uint32_t lane) {
    MemoryLocation location = locate_object(warp, in, in.operands[0], lane);
    Cta &cta = *location.cta;
    check_initialised(warp, cta, location.offset, lane);
    Mbarrier &mbarrier = cta.mbarrier(warp, location.offset, lane);
    if (mbarrier.pending != mbarrier.expected || mbarrier.transactions)
      warp.trap_lane(lane, trap_kind::mbarrier, "mbarrier.inval while a phase is incomplete",
                     {"the mbarrier was last changed by line " + std::to_string(mbarrier.line)});
    cta.retired_mbarriers[uint32_t(location.offset)] = mbarrier;
    cta.mbarriers.erase(uint32_t(location.offset));
    auto neighbour = cta.mbarriers.lower_bound(uint32_t(location.offset / 16 * 16));
    cta.holds_mbarrier[location.offset / 16] =
        neighbour != cta.mbarriers.end() && neighbour->first < location.offset / 16 * 16 + 16;
  });
  return Outcome::Next;
}

Outcome arrive(Warp &warp, const Instruction &in) {
  const Operand &a = in.operands[size_t(in.settings[AddressOperand])];
  warp.require(a);
  if (in.settings[CountOperand])
    warp.require(in.operands[size_t(in.settings[CountOperand])]);
  Knowledge published = in.settings[Relaxed] ? warp.clock.fence_released() : warp.clock.release();
  for_each_lane(warp.mask, [&](uint32_t lane) {
    MemoryLocation location = locate_object(warp, in, a, lane);
    check_initialised(warp, *location.cta, location.offset, lane);
    Mbarrier &mbarrier = location.cta->mbarrier(warp, location.offset, lane);
    Origin origin = warp.origin(lane);
    if (in.settings[AddressOperand])
      warp.set_bits(in.operands[0], lane, make_token(mbarrier));
    int64_t count = in.settings[ExpectBytes] ? 1 : count_of(warp, in, lane, 1);
    if (in.settings[ExpectBytes])
      expect_transactions(origin, *location.cta, location.offset, count_of(warp, in, lane, 0));
    if (in.settings[NoComplete] && count >= mbarrier.pending)
      warp.trap_lane(lane, trap_kind::mbarrier, "mbarrier.arrive.noComplete completes the phase");
    if (in.settings[Drop])
      drop_mbarrier(origin, *location.cta, location.offset, count, published);
    else
      signal_mbarrier(origin, *location.cta, location.offset, count, published);
  });
  if (in.settings[AddressOperand])
    warp.wrote(in.operands[0]);
  return Outcome::Next;
}

Outcome change_transactions(Warp &warp, const Instruction &in) {
  warp.require(in.operands[0]);
  warp.require(in.operands[1]);
  for_each_lane(warp.mask, [&](uint32_t lane) {
    MemoryLocation location = locate_object(warp, in, in.operands[0], lane);
    check_initialised(warp, *location.cta, location.offset, lane);
    int64_t bytes = int64_t(warp.bits(in.operands[1], lane));
    if (in.settings[ExpectBytes])
      expect_transactions(warp.origin(lane), *location.cta, location.offset, bytes);
    else
      complete_transactions(warp.origin(lane), *location.cta, location.offset, uint64_t(bytes),
                            location.cta->mbarrier(warp, location.offset, lane).phase, false);
  });
  return Outcome::Next;
}

/// True if the phase of operand 2 has completed. Traps if PTX leaves the result undefined.
bool test(Warp &warp, const Instruction &in, const Mbarrier &mbarrier, uint32_t lane) {
  uint64_t waited = warp.bits(in.operands[2], lane);
  if (in.settings[Parity])
    return mbarrier.test_parity(uint32_t(waited) & 1);
  uint64_t phase = waited >> token_pending_bits;
  if (phase > mbarrier.phase || mbarrier.phase - phase > 1)
    warp.trap_lane(lane, trap_kind::mbarrier,
                   "the wait uses the token of phase " + std::to_string(phase) + ", but the mbarrier is in phase " +
                       std::to_string(mbarrier.phase));
  return mbarrier.phase > phase;
}

Outcome wait(Warp &warp, const Instruction &in) {
  const Operand &d = in.operands[0], &a = in.operands[1];
  warp.require(a);
  for (size_t i = 2; i < in.operands.size(); ++i)
    warp.require(in.operands[i]);
  uint32_t done = 0;
  for_each_lane(warp.mask, [&](uint32_t lane) {
    MemoryLocation location = locate_object(warp, in, a, lane);
    if (location.cta != &warp.cta)
      warp.trap_lane(lane, trap_kind::mbarrier,
                     "the wait uses an mbarrier of another CTA, but only one in shared::cta can be waited for");
    check_initialised(warp, *location.cta, location.offset, lane);
    done |= uint32_t(test(warp, in, location.cta->mbarrier(warp, location.offset, lane), lane)) << lane;
  });
  Fragment &fragment = warp.fragment();
  // A try_wait that fails suspends the fragment until the progress count changes. So does a test_wait that has failed
  // this often.
  constexpr uint32_t maximum_failed_polls = 64;
  bool blocks = in.settings[Blocks] || fragment.failed_polls > maximum_failed_polls;
  if (done != warp.mask && blocks && !fragment.poll_returns) {
    ++fragment.failed_polls;
    return Outcome::Wait;
  }
  fragment.poll_returns = false;
  fragment.failed_polls = done == warp.mask ? 0 : fragment.failed_polls + 1;
  for_each_lane(done, [&](uint32_t lane) {
    MemoryLocation location = locate_object(warp, in, a, lane);
    Mbarrier &mbarrier = location.cta->mbarrier(warp, location.offset, lane);
    if (mbarrier.phase == 0)
      return; // the phase before the first one orders no accesses
    mbarrier.observed = true;
    mbarrier.observed_phases = mbarrier.phase;
    if (in.settings[Relaxed])
      warp.clock.acquire_relaxed(mbarrier.complete);
    else
      warp.clock.acquire(mbarrier.complete);
    ++warp.machine.traffic.mbarrier_waits;
  });
  warp.set_predicate(d, done);
  return Outcome::Next;
}

Outcome pending_count(Warp &warp, const Instruction &in) {
  warp.require(in.operands[1]);
  for_each_lane(warp.mask, [&](uint32_t lane) {
    warp.set_bits(in.operands[0], lane, warp.bits(in.operands[1], lane) & ((1u << token_pending_bits) - 1));
  });
  warp.wrote(in.operands[0]);
  return Outcome::Next;
}

void take_common_modifiers(Decoder &d) {
  d.instruction.settings[Relaxed] = d.take("relaxed");
  d.take_one_of({"acquire", "release"});
  d.take_one_of({"cta", "cluster"});
  d.instruction.space = d.take_space();
  d.take("b64");
}

Execute decode_init(Decoder &d) {
  take_common_modifiers(d);
  d.expect_operands(2, 2);
  d.address(0);
  d.source(1, Type::U32);
  return &init;
}

Execute decode_inval(Decoder &d) {
  take_common_modifiers(d);
  d.expect_operands(1, 1);
  d.address(0);
  return &invalidate;
}

Execute decode_arrive(Decoder &d, bool drop) {
  Instruction &in = d.instruction;
  in.settings[Drop] = drop;
  in.settings[ExpectBytes] = d.take("expect_tx");
  in.settings[NoComplete] = d.take("noComplete");
  take_common_modifiers(d);
  // The token may be absent in the shared::cluster forms.
  size_t at = !in.operands.empty() && in.operands[0].kind == Operand::Kind::Address ? 0 : 1;
  in.settings[AddressOperand] = int32_t(at);
  d.expect_operands(at + 1, at + 2);
  if (at)
    d.destination(0, Type::B64);
  d.address(at);
  if (d.count() > at + 1) {
    in.settings[CountOperand] = int32_t(at + 1);
    d.source(at + 1, Type::U32);
  } else if (in.settings[ExpectBytes] || in.settings[NoComplete]) {
    d.malformed("'" + in.text + "' needs a count");
  }
  return &arrive;
}

Execute decode_transactions(Decoder &d, bool expect) {
  d.instruction.settings[ExpectBytes] = expect;
  take_common_modifiers(d);
  d.expect_operands(2, 2);
  d.address(0);
  d.source(1, Type::U32);
  return &change_transactions;
}

Execute decode_wait(Decoder &d, bool blocks) {
  Instruction &in = d.instruction;
  in.is_poll = true;
  in.settings[Blocks] = blocks;
  in.settings[Parity] = d.take("parity");
  take_common_modifiers(d);
  d.expect_operands(3, blocks ? 4 : 3);
  d.predicate_destination(0);
  d.address(1);
  d.source(2, in.settings[Parity] ? Type::U32 : Type::B64);
  if (d.count() > 3)
    d.source(3, Type::U32);
  return &wait;
}

} // namespace

const OpcodeTable &mbarrier_opcodes() {
  static const OpcodeTable table = {
      {"mbarrier.init", OpcodeGroup::Mbarrier, decode_init},
      {"mbarrier.inval", OpcodeGroup::Mbarrier, decode_inval},
      {"mbarrier.arrive", OpcodeGroup::Mbarrier, [](Decoder &d) { return decode_arrive(d, false); }},
      {"mbarrier.arrive_drop", OpcodeGroup::Mbarrier, [](Decoder &d) { return decode_arrive(d, true); }},
      {"mbarrier.expect_tx", OpcodeGroup::Mbarrier, [](Decoder &d) { return decode_transactions(d, true); }},
      {"mbarrier.complete_tx", OpcodeGroup::Mbarrier, [](Decoder &d) { return decode_transactions(d, false); }},
      {"mbarrier.test_wait", OpcodeGroup::Mbarrier, [](Decoder &d) { return decode_wait(d, false); }},
      {"mbarrier.try_wait", OpcodeGroup::Mbarrier, [](Decoder &d) { return decode_wait(d, true); }},
      {"mbarrier.pending_count", OpcodeGroup::Mbarrier,
       [](Decoder &d) {
         d.take("b64");
         d.expect_operands(2, 2);
         d.destination(0, Type::U32);
         d.source(1, Type::B64);
         return &pending_count;
       }},
  };
  return table;
}

} // namespace ptxsim
