// Instructions over the lanes of a warp: shfl, vote, match, redux, elect (PTX ISA 9.7.9 and 9.7.13).
#include "execution/lanewise.h"
#include "execution/machine.h"
#include "numbers/bit_cast.h"
#include "opcodes/atomic_operation.h"

#include <cmath>
#include <cstring>

namespace ptxsim {

namespace {

void converge_members(Decoder &d, size_t operand) {
  d.source(operand, Type::B32);
  d.instruction.converge = Converge::Members;
  d.instruction.mask_operand = uint8_t(operand);
}

/// The members that execute the instruction together with this lane. Traps if the lane is not a member.
uint32_t members_of(Warp &warp, const Operand &operand, uint32_t lane) {
  warp.require(operand);
  uint32_t members = warp.lanes<uint32_t>(operand)[lane];
  if (!(members >> lane & 1))
    warp.trap_lane(lane, trap_kind::illegal,
                   "'" + warp.instruction().text + "' is executed by lane " + std::to_string(lane) +
                       ", which is not in its member mask");
  return members & warp.mask;
}

/// settings: one of Shuffle, Vote or AtomicOperation; modifiers of redux.
enum Setting { Mode, AbsoluteValue, PropagatesNan };
enum class Shuffle { Up, Down, Butterfly, Index };

Outcome shfl(Warp &warp, const Instruction &in) {
  const Operand &a = in.operands[1];
  for (size_t i = 2; i < 5; ++i)
    warp.require(in.operands[i]);
  // The result is undefined in the lanes that read an undefined value.
  const uint32_t defined = warp.written_lanes(a);
  const bool all_defined = (defined & warp.mask) == warp.mask;
  if (all_defined || warp.in_flight(a))
    warp.require(a);
  uint32_t received = 0;
  uint32_t values[lane_count];
  std::memcpy(values, warp.lanes<uint32_t>(a), sizeof values);
  const Operand &d = in.operands[0].kind == Operand::Kind::Vector ? in.operands[0].elements[0] : in.operands[0];
  uint32_t *result = warp.lanes<uint32_t>(d);
  const uint32_t *b = warp.lanes<uint32_t>(in.operands[2]), *c = warp.lanes<uint32_t>(in.operands[3]);
  uint32_t in_range = 0;
  for_each_lane(warp.mask, [&](uint32_t lane) {
    uint32_t members = members_of(warp, in.operands[4], lane);
    uint32_t offset = b[lane] & 31, clamp = c[lane] & 31, segment = c[lane] >> 8 & 31;
    uint32_t highest = (lane & segment) | (clamp & ~segment);
    uint32_t lowest = lane & segment;
    int32_t from = 0;
    bool ok = false;
    switch (Shuffle(in.settings[Mode])) {
    case Shuffle::Up:
      from = int32_t(lane) - int32_t(offset);
      ok = from >= int32_t(highest);
      break;
    case Shuffle::Down:
      from = int32_t(lane + offset);
      ok = from <= int32_t(highest);
      break;
    case Shuffle::Butterfly:
      from = int32_t(lane ^ offset);
      ok = from <= int32_t(highest);
      break;
    case Shuffle::Index:
      from = int32_t(lowest | (offset & ~segment));
      ok = from <= int32_t(highest);
    }
    if (!ok)
      from = int32_t(lane);
    if (!(members >> from & 1))
      warp.trap_lane(lane, trap_kind::divergence,
                     "shfl reads lane " + std::to_string(from) + ", which does not execute the instruction");
    result[lane] = values[from];
    received |= (defined >> from & 1) << lane;
    in_range |= uint32_t(ok) << lane;
  });
  warp.wrote(d);
  if (!all_defined && warp.machine.options.checks)
    warp.mark_undefined(d, warp.mask & ~received);
  if (in.operands[0].kind == Operand::Kind::Vector)
    warp.set_predicate(in.operands[0].elements[1], in_range);
  return Outcome::Next;
}

void destination_with_predicate(Decoder &d, Type type) {
  Operand &first = d.instruction.operands[0];
  if (first.kind != Operand::Kind::Vector) {
    d.destination(0, type);
    return;
  }
  if (first.elements.size() != 2)
    d.malformed("'" + d.instruction.text + "' expects d|p");
  d.destination(first.elements[0], type);
  if (first.elements[1].kind == Operand::Kind::Sink)
    d.destination(first.elements[1], Type::B32);
  else if (first.elements[1].kind != Operand::Kind::Predicate)
    d.malformed("'" + d.instruction.text + "' expects a predicate after '|'");
}

Execute decode_shfl(Decoder &d) {
  d.take_one_of({"b32"});
  int mode = d.take_one_of({"up", "down", "bfly", "idx"});
  if (mode < 0)
    d.malformed("'" + d.instruction.text + "' has no mode");
  d.instruction.settings[Mode] = mode;
  d.expect_operands(5, 5);
  destination_with_predicate(d, Type::B32);
  d.source(1, Type::B32);
  d.source(2, Type::B32);
  d.source(3, Type::B32);
  converge_members(d, 4);
  return &shfl;
}

enum class Vote { All, Any, Uniform, Ballot };

Outcome vote(Warp &warp, const Instruction &in) {
  warp.require(in.operands[1]);
  uint32_t value = warp.predicate(in.operands[1]);
  uint32_t result = 0;
  const Operand &d = in.operands[0];
  for_each_lane(warp.mask, [&](uint32_t lane) {
    uint32_t members = members_of(warp, in.operands[2], lane);
    uint32_t set = value & members;
    switch (Vote(in.settings[Mode])) {
    case Vote::All:
      result |= uint32_t(set == members) << lane;
      break;
    case Vote::Any:
      result |= uint32_t(set != 0) << lane;
      break;
    case Vote::Uniform:
      result |= uint32_t(set == members || set == 0) << lane;
      break;
    case Vote::Ballot:
      warp.lanes<uint32_t>(d)[lane] = set;
    }
  });
  if (Vote(in.settings[Mode]) == Vote::Ballot)
    warp.wrote(d);
  else
    warp.set_predicate(d, result);
  return Outcome::Next;
}

Execute decode_vote(Decoder &d) {
  int mode = d.take_one_of({"all", "any", "uni", "ballot"});
  d.take_one_of({"pred", "b32"});
  if (mode < 0)
    d.malformed("'" + d.instruction.text + "' has no mode");
  d.instruction.settings[Mode] = mode;
  d.expect_operands(3, 3);
  if (Vote(mode) == Vote::Ballot)
    d.destination(0, Type::B32);
  else
    d.predicate_destination(0);
  d.predicate(1);
  converge_members(d, 2);
  return &vote;
}

Outcome activemask(Warp &warp, const Instruction &in) {
  uint32_t *d = warp.lanes<uint32_t>(in.operands[0]);
  for_each_lane(warp.mask, [&](uint32_t lane) { d[lane] = warp.mask; });
  warp.wrote(in.operands[0]);
  return Outcome::Next;
}

enum MatchSetting { MatchAll };

Outcome match(Warp &warp, const Instruction &in) {
  const Operand &a = in.operands[1];
  warp.require(a);
  bool all = in.settings[MatchAll];
  const Operand &d = in.operands[0].kind == Operand::Kind::Vector ? in.operands[0].elements[0] : in.operands[0];
  uint32_t all_same = 0;
  for_each_lane(warp.mask, [&](uint32_t lane) {
    uint32_t members = members_of(warp, in.operands[2], lane), same = 0;
    for_each_lane(members,
                  [&](uint32_t other) { same |= uint32_t(warp.bits(a, other) == warp.bits(a, lane)) << other; });
    if (all && same != members)
      same = 0;
    all_same |= uint32_t(same == members) << lane;
    warp.lanes<uint32_t>(d)[lane] = same;
  });
  warp.wrote(d);
  if (in.operands[0].kind == Operand::Kind::Vector)
    warp.set_predicate(in.operands[0].elements[1], all_same);
  return Outcome::Next;
}

Execute decode_match(Decoder &d) {
  d.instruction.settings[MatchAll] = d.take("all");
  d.take("any");
  d.take("sync");
  Type type = d.take_type();
  d.expect_operands(3, 3);
  destination_with_predicate(d, Type::B32);
  d.source(1, type);
  converge_members(d, 2);
  return &match;
}

AtomicOperation redux_operation(const Instruction &in) { return AtomicOperation(in.settings[Mode]); }

uint32_t reduce(const Instruction &in, uint32_t a, uint32_t b) {
  return uint32_t(apply_atomic(redux_operation(in), in.type, a, b));
}

uint32_t reduce_float(const Instruction &in, uint32_t a, uint32_t b) {
  float x = from_bits<float>(a), y = from_bits<float>(b);
  if (in.settings[AbsoluteValue]) {
    x = std::fabs(x);
    y = std::fabs(y);
  }
  if (std::isnan(x) || std::isnan(y)) {
    if (in.settings[PropagatesNan] || (std::isnan(x) && std::isnan(y)))
      return 0x7FFFFFFF;
    x = std::isnan(x) ? y : x;
    y = x;
  }
  // -0 is less than +0.
  const bool x_is_less = x < y || (x == y && std::signbit(x));
  return uint32_t(to_bits(x_is_less == (redux_operation(in) == AtomicOperation::Min) ? x : y));
}

Outcome redux(Warp &warp, const Instruction &in) {
  warp.require(in.operands[1]);
  uint32_t values[lane_count], results[lane_count];
  std::memcpy(values, warp.lanes<uint32_t>(in.operands[1]), sizeof values);
  for_each_lane(warp.mask, [&](uint32_t lane) {
    uint32_t members = members_of(warp, in.operands[2], lane);
    uint32_t first = uint32_t(__builtin_ctz(members));
    uint32_t total = in.type == Type::F32 ? reduce_float(in, values[first], values[first]) : values[first];
    for_each_lane(members & (members - 1), [&](uint32_t other) {
      total = in.type == Type::F32 ? reduce_float(in, total, values[other]) : reduce(in, total, values[other]);
    });
    results[lane] = total;
  });
  for_each_lane(warp.mask, [&](uint32_t lane) { warp.lanes<uint32_t>(in.operands[0])[lane] = results[lane]; });
  warp.wrote(in.operands[0]);
  return Outcome::Next;
}

Execute decode_redux(Decoder &d) {
  Instruction &in = d.instruction;
  static constexpr AtomicOperation operations[] = {AtomicOperation::Add, AtomicOperation::Min, AtomicOperation::Max,
                                                   AtomicOperation::And, AtomicOperation::Or,  AtomicOperation::Xor};
  const int index = d.take_one_of({"add", "min", "max", "and", "or", "xor"});
  if (index < 0)
    d.malformed("'" + in.text + "' has no operation");
  in.settings[Mode] = int32_t(operations[index]);
  in.settings[AbsoluteValue] = d.take("abs");
  in.settings[PropagatesNan] = d.take("NaN");
  in.type = d.take_type();
  d.expect_operands(3, 3);
  d.destination(0, Type::B32);
  d.source(1, Type::B32);
  converge_members(d, 2);
  return &redux;
}

/// The leader is the lowest member.
Outcome elect(Warp &warp, const Instruction &in) {
  uint32_t leaders = 0;
  const Operand &d = in.operands[0].elements[0];
  for_each_lane(warp.mask, [&](uint32_t lane) {
    uint32_t leader = uint32_t(__builtin_ctz(members_of(warp, in.operands[1], lane)));
    warp.lanes<uint32_t>(d)[lane] = leader;
    leaders |= uint32_t(leader == lane) << lane;
  });
  warp.wrote(d);
  warp.set_predicate(in.operands[0].elements[1], leaders);
  return Outcome::Next;
}

Execute decode_elect(Decoder &d) {
  d.expect_operands(2, 2);
  if (!d.is_vector(0))
    d.malformed("elect.sync expects d|p");
  destination_with_predicate(d, Type::B32);
  converge_members(d, 1);
  return &elect;
}

Outcome sync_lanes(Warp &warp, const Instruction &in) {
  uint32_t members = ~0u;
  for_each_lane(warp.mask, [&](uint32_t lane) { members &= members_of(warp, in.operands[0], lane); });
  if (members == warp.live)
    warp.clock.synchronise_lanes();
  return Outcome::Next;
}

enum RegisterSetting { RegisterCount, Increase };

/// Moves registers between the warp and the pool of its CTA; .inc waits until the pool has enough registers.
Outcome setmaxnreg(Warp &warp, const Instruction &in) {
  const uint32_t count = uint32_t(in.settings[RegisterCount]);
  uint32_t &owned = warp.owned_registers, &pool = warp.cta.free_registers;
  if (!owned || (in.settings[Increase] ? count <= owned : count >= owned))
    return Outcome::Next;
  if (count > owned + pool)
    return Outcome::Wait;
  pool += owned - count;
  owned = count;
  ++warp.cluster.progress;
  warp.machine.changed();
  return Outcome::Next;
}

Execute decode_setmaxnreg(Decoder &d) {
  const int direction = d.take_one_of({"dec", "inc"});
  if (direction < 0 || !d.take("sync") || !d.take("aligned") || !d.take("u32"))
    d.malformed("expected setmaxnreg.inc or .dec, .sync.aligned.u32");
  d.expect_operands(1, 1);
  int64_t count = d.immediate(0);
  if (count < 24 || count > 256 || count % 8)
    d.malformed("setmaxnreg takes a multiple of 8 within 24 and 256, found " + std::to_string(count));
  d.instruction.settings[RegisterCount] = int32_t(count);
  d.instruction.settings[Increase] = direction;
  d.instruction.converge = Converge::All;
  return &setmaxnreg;
}

} // namespace

const OpcodeTable &warp_opcodes() {
  static const OpcodeTable table = {
      {"shfl.sync", OpcodeGroup::Warp, decode_shfl},
      {"vote.sync", OpcodeGroup::Warp, decode_vote},
      {"match", OpcodeGroup::Warp, decode_match},
      {"redux.sync", OpcodeGroup::Warp, decode_redux},
      {"elect.sync", OpcodeGroup::Warp, decode_elect},
      {"activemask.b32", OpcodeGroup::Warp,
       [](Decoder &d) {
         d.expect_operands(1, 1);
         d.destination(0, Type::B32);
         return &activemask;
       }},
      {"bar.warp.sync", OpcodeGroup::Warp,
       [](Decoder &d) {
         d.expect_operands(1, 1);
         converge_members(d, 0);
         return &sync_lanes;
       }},
      {"setmaxnreg", OpcodeGroup::Warp, decode_setmaxnreg},
  };
  return table;
}

} // namespace ptxsim
