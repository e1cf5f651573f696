// Barriers of a CTA and of a cluster (PTX ISA 9.7.13.1 to 9.7.13.4).
#include "execution/lanewise.h"
#include "execution/machine.h"

#include <algorithm>

namespace ptxsim {

namespace {

/// settings: the action; the reduction of .red; the indices of the thread count (0: none) and of the barrier.
enum Setting { Action, Reduce, CountOperand, BarrierOperand };
enum class BarrierAction { Sync, Arrive, Red };
enum class Reduction { Popc, And, Or };

uint32_t threads_of(const Warp &warp, bool aligned, bool counted) {
  // With a count, an aligned barrier counts whole warps.
  return aligned && counted ? lane_count : uint32_t(__builtin_popcount(warp.mask));
}

void arrive(Warp &warp, const Instruction &in, NamedBarrier &barrier) {
  bool counted = in.settings[CountOperand] != 0;
  bool aligned = in.converge == Converge::All;
  uint32_t expected = 0;
  if (counted) {
    expected = warp.uniform<uint32_t>(in.operands[size_t(in.settings[CountOperand])]);
    if (expected == 0 || expected % lane_count)
      warp.trap(trap_kind::barrier,
                "expected a thread count that is a multiple of 32, found " + std::to_string(expected));
    if (expected > (warp.cta.thread_count() + lane_count - 1) / lane_count * lane_count)
      warp.trap(trap_kind::barrier, "the barrier expects " + std::to_string(expected) + " threads, but the CTA has " +
                                        std::to_string(warp.cta.thread_count()));
  }
  if (barrier.arrived && barrier.expects_all == counted)
    warp.trap(trap_kind::barrier, "the barrier is used with and without a thread count in one generation",
              {"another arrival is at line " + std::to_string(barrier.line)});
  if (counted && barrier.arrived && barrier.expected != expected)
    warp.trap(trap_kind::barrier,
              "the barrier already expects " + std::to_string(barrier.expected) + " threads, found " +
                  std::to_string(expected),
              {"another arrival is at line " + std::to_string(barrier.line)});
  barrier.expects_all = !counted;
  barrier.expected = expected;
  barrier.line = in.line;
  barrier.arrived += threads_of(warp, aligned, counted);
  barrier.gathering.join(warp.clock.release());
  if (counted && barrier.arrived > expected)
    warp.trap(trap_kind::barrier, std::to_string(barrier.arrived) + " threads arrive at a barrier that expects " +
                                      std::to_string(expected));
}

bool complete(const Warp &warp, const NamedBarrier &barrier) {
  return barrier.arrived >= (barrier.expects_all ? warp.cta.live_threads() : barrier.expected);
}

void reduce_predicates(Warp &warp, const Instruction &in, NamedBarrier &barrier, bool first) {
  const Operand &p = in.operands.back();
  warp.require(p);
  uint32_t set = warp.predicate(p) & warp.mask;
  switch (Reduction(in.settings[Reduce])) {
  case Reduction::Popc:
    barrier.population += uint32_t(__builtin_popcount(set));
    break;
  case Reduction::And:
    barrier.population = (first || barrier.population) && set == warp.mask;
    break;
  case Reduction::Or:
    barrier.population |= set != 0;
  }
}

void complete_wait(Warp &warp, const Instruction &in, const NamedBarrier &barrier) {
  warp.fragment().ticket = 0;
  warp.clock.acquire(barrier.complete);
  if (BarrierAction(in.settings[Action]) != BarrierAction::Red)
    return;
  const Operand &d = in.operands[0];
  if (Reduction(in.settings[Reduce]) != Reduction::Popc) {
    warp.set_predicate(d, barrier.reduced ? ~0u : 0);
    return;
  }
  for_each_lane(warp.mask, [&](uint32_t lane) { warp.lanes<uint32_t>(d)[lane] = barrier.reduced; });
  warp.wrote(d);
}

Outcome barrier_cta(Warp &warp, const Instruction &in) {
  uint32_t number = warp.uniform<uint32_t>(in.operands[size_t(in.settings[BarrierOperand])]);
  if (number >= warp.cta.barriers.size())
    warp.trap(trap_kind::barrier, "a CTA has barriers 0 to 15, found " + std::to_string(number));
  NamedBarrier &barrier = warp.cta.barriers[number];
  Fragment &fragment = warp.fragment();
  if (!fragment.ticket) {
    if (BarrierAction(in.settings[Action]) == BarrierAction::Red)
      reduce_predicates(warp, in, barrier, barrier.arrived == 0);
    arrive(warp, in, barrier);
    fragment.ticket = barrier.generation + 1;
    ++warp.machine.traffic.barrier_arrivals;
    if (complete(warp, barrier)) {
      barrier.finish();
      ++warp.cluster.progress;
    }
    if (BarrierAction(in.settings[Action]) == BarrierAction::Arrive) {
      fragment.ticket = 0;
      return Outcome::Next;
    }
  }
  if (barrier.generation < fragment.ticket)
    return Outcome::Wait;
  complete_wait(warp, in, barrier);
  return Outcome::Next;
}

Execute decode_barrier(Decoder &d, bool aligned) {
  Instruction &in = d.instruction;
  d.take("cta");
  int action = d.take_one_of({"sync", "arrive", "red"});
  if (action < 0)
    d.malformed("'" + in.text + "' is neither sync, arrive nor red");
  in.settings[Action] = action;
  aligned |= d.take("aligned");
  if (aligned)
    in.converge = Converge::All;
  bool red = BarrierAction(action) == BarrierAction::Red;
  if (red) {
    in.settings[Reduce] = d.take_one_of({"popc", "and", "or"});
    d.take_one_of({"u32", "pred"});
    d.expect_operands(3, 4);
    if (Reduction(in.settings[Reduce]) == Reduction::Popc)
      d.destination(0, Type::U32);
    else
      d.predicate_destination(0);
    d.predicate(d.count() - 1);
  } else {
    d.expect_operands(BarrierAction(action) == BarrierAction::Arrive ? 2 : 1, 2);
  }
  size_t first = red ? 1 : 0;
  in.settings[BarrierOperand] = int32_t(first);
  d.source(first, Type::U32);
  if (d.count() > first + (red ? 2 : 1)) {
    in.settings[CountOperand] = int32_t(first + 1);
    d.source(first + 1, Type::U32);
  }
  return &barrier_cta;
}

enum ClusterSetting { RelaxedArrival };

Outcome cluster_arrive(Warp &warp, const Instruction &in) {
  NamedBarrier &barrier = warp.cluster.barrier;
  if (warp.cluster_arrived & warp.mask)
    warp.trap(trap_kind::barrier, "barrier.cluster.arrive is executed twice without a barrier.cluster.wait in between");
  warp.cluster_arrived |= warp.mask;
  warp.cluster_ticket = barrier.generation + 1;
  barrier.arrived += uint32_t(__builtin_popcount(warp.mask));
  if (in.settings[RelaxedArrival])
    barrier.gathering.join(warp.clock.fence_released()); // publishes only what an earlier fence has released
  else
    barrier.gathering.join(warp.clock.release());
  uint32_t live_threads = 0;
  for (const auto &cta : warp.cluster.ctas)
    live_threads += cta->live_threads();
  if (barrier.arrived >= live_threads) {
    barrier.finish();
    ++warp.cluster.progress;
  }
  return Outcome::Next;
}

Outcome cluster_wait(Warp &warp, const Instruction &) {
  if ((warp.cluster_arrived & warp.mask) != warp.mask)
    warp.trap(trap_kind::barrier, "barrier.cluster.wait without a preceding barrier.cluster.arrive");
  if (warp.cluster.barrier.generation < warp.cluster_ticket)
    return Outcome::Wait;
  warp.cluster_arrived &= ~warp.mask;
  warp.clock.acquire(warp.cluster.barrier.complete);
  return Outcome::Next;
}

} // namespace

const OpcodeTable &barrier_opcodes() {
  static const OpcodeTable table = {
      {"bar", OpcodeGroup::Barrier, [](Decoder &d) { return decode_barrier(d, true); }},
      {"barrier", OpcodeGroup::Barrier, [](Decoder &d) { return decode_barrier(d, false); }},
      {"barrier.cluster.arrive", OpcodeGroup::Barrier,
       [](Decoder &d) {
         d.take("release");
         d.instruction.settings[RelaxedArrival] = d.take("relaxed");
         if (d.take("aligned"))
           d.instruction.converge = Converge::All;
         d.expect_operands(0, 0);
         return &cluster_arrive;
       }},
      {"barrier.cluster.wait", OpcodeGroup::Barrier,
       [](Decoder &d) {
         d.take("acquire");
         if (d.take("aligned"))
           d.instruction.converge = Converge::All;
         d.expect_operands(0, 0);
         return &cluster_wait;
       }},
  };
  return table;
}

} // namespace ptxsim
