#include "execution/warp.h"

#include "execution/machine.h"
#include "numbers/hexadecimal.h"
#include "program/opcode.h"
#include "program/special.h"

#include <algorithm>

namespace ptxsim {

Warp::Warp(Machine &machine, Cluster &cluster, Cta &cta, uint32_t index, uint32_t live)
    : machine(machine), cluster(cluster), cta(cta), index(index), live(live),
      clock(cluster.new_agent("warp " + std::to_string(index) + " of CTA " + std::to_string(cta.rank))) {
  Fragment first;
  first.pc = machine.entry.first;
  first.mask = live;
  fragments.push_back(std::move(first));
  const Program &program = machine.program;
  owned_registers = machine.entry.launch_registers;
  local_stride = program.local_bytes;
  local_memory.resize(size_t(local_stride) * lane_count);
  written.assign(program.register_count, 0);
  touched_registers.assign(program.register_count, false);
  tracking = program.uses_wgmma;
  initialise_registers();
}

void Warp::initialise_registers() {
  const Program &program = machine.program;
  registers.resize(program.register_bytes);
  written[0] = ~0u;
  for (const Constant &constant : program.constants) {
    uint64_t base = constant.value;
    uint64_t rank = uint64_t(cta.rank) << cta_rank_shift;
    if (constant.kind == Constant::Kind::SharedAddress)
      base += rank;
    else if (constant.kind == Constant::Kind::DynamicShared)
      base += rank + machine.dynamic_shared_offset();
    if (constant.size == 0) {
      uint32_t values = uint32_t(base);
      std::memcpy(&registers[constant.slot], &values, 4);
      continue;
    }
    bool special = constant.kind == Constant::Kind::Special;
    for (uint32_t lane = 0; lane < lane_count; ++lane) {
      uint64_t value = special ? special_value(Special(constant.special), *this, lane) : base;
      std::memcpy(&registers[constant.slot + lane * constant.size], &value, std::min<size_t>(constant.size, 8));
    }
  }
}

bool Warp::can_run(const Fragment &candidate) const {
  switch (candidate.state) {
  case Fragment::State::Runnable:
    return true;
  case Fragment::State::Waiting:
    return candidate.waiting_since != cluster.progress;
  default:
    return may_converge(machine.program.code[candidate.pc], candidate.mask);
  }
}

bool Warp::runnable() const {
  return live && std::any_of(fragments.begin(), fragments.end(),
                             [this](const Fragment &candidate) { return can_run(candidate); });
}

/// Selects the fragment that is furthest behind: deepest in calls, then lowest in the text. A fragment yields to others
/// after every 256 backward jumps.
bool Warp::select_fragment() {
  bool found = false;
  auto key = [](const Fragment &fragment) {
    return std::make_tuple(fragment.backward_jumps / 256, ~fragment.stack.size(), fragment.pc);
  };
  for (uint32_t i = 0; i < fragments.size(); ++i)
    if (can_run(fragments[i]) && (!found || key(fragments[i]) < key(fragments[current]))) {
      current = i;
      found = true;
    }
  return found;
}

void Warp::merge_fragments() {
  for (size_t i = 0; i < fragments.size(); ++i)
    for (size_t j = i + 1; j < fragments.size();) {
      Fragment &a = fragments[i];
      Fragment &b = fragments[j];
      if (a.pc != b.pc || a.ticket || b.ticket || a.stack != b.stack) {
        ++j;
        continue;
      }
      a.mask |= b.mask;
      a.state = Fragment::State::Runnable;
      a.backward_jumps = std::min(a.backward_jumps, b.backward_jumps);
      fragments.erase(fragments.begin() + ptrdiff_t(j));
    }
  current = 0;
}

void Warp::remove_empty_fragments() {
  fragments.erase(std::remove_if(fragments.begin(), fragments.end(), [](const Fragment &f) { return !f.mask; }),
                  fragments.end());
  current = 0;
}

/// True if the lanes `together` are all the lanes that must execute the instruction together.
bool Warp::may_converge(const Instruction &next, uint32_t together) const {
  if (next.converge == Converge::None)
    return true;
  if (next.converge == Converge::All)
    return together == live;
  const uint32_t *members = lanes<uint32_t>(next.operands[next.mask_operand]);
  for (uint32_t lane = 0; lane < lane_count; ++lane)
    if ((together >> lane & 1) && (members[lane] & live & ~together))
      return false;
  return true;
}

uint64_t Warp::run(uint64_t steps) { return run_instructions<false>(steps); }

uint64_t Warp::run_round(uint64_t steps) { return run_instructions<true>(steps); }

template <bool observed> uint64_t Warp::run_instructions(uint64_t steps) {
  const Instruction *code = machine.program.code.data();
  uint64_t done = 0;
  while (done < steps && live) {
    if (fragments.size() > 1) {
      merge_fragments();
      if (!select_fragment())
        break;
    } else {
      current = 0;
      if (!can_run(fragments[0]))
        break;
    }
    Fragment &running = fragments[current];
    const Instruction &next = code[running.pc];
    executing = &next;
    mask = running.mask;
    ++done;
    if (next.guarded) {
      if ((written[next.guard_number] & mask) != mask)
        trap(trap_kind::uninitialised,
             "the guard of '" + next.text + "' reads a predicate without a defined value" + undefined_load);
      uint32_t guard;
      std::memcpy(&guard, &registers[next.guard_slot], 4);
      uint32_t passing = mask & (next.guard_negated ? ~guard : guard);
      if (next.converge != Converge::None && passing && passing != mask)
        trap(trap_kind::divergence,
             "'" + next.text + "' is executed by only some lanes of the warp, since its guard is not uniform");
      mask = passing;
      if constexpr (observed)
        if (mask != running.mask)
          machine.spin_detector.record(*this, running.pc, Skipped);
      if (!mask) {
        ++running.pc;
        continue;
      }
    }
    if (next.converge != Converge::None && !may_converge(next, running.mask)) {
      running.state = Fragment::State::Converging;
      continue;
    }
    if (!next.execute)
      trap_unsupported(next);
    running.state = Fragment::State::Runnable;
    uint32_t executing_lanes = mask;
    undefined_lanes = 0;
    if constexpr (observed) {
      machine.spin_detector.record(*this, running.pc, Passed);
      jumped_back = false;
    }
    Outcome outcome = next.execute(*this, next);
    if (outcome != Outcome::Wait) {
      ++machine.opcode_counts[next.row];
      machine.lane_counts[next.row] += uint64_t(__builtin_popcount(executing_lanes));
    }
    switch (outcome) {
    case Outcome::Next:
      ++fragments[current].pc;
      break;
    case Outcome::Jump:
      if constexpr (observed)
        if (jumped_back)
          return done;
      break;
    case Outcome::Wait:
      fragments[current].state = Fragment::State::Waiting;
      fragments[current].waiting_since = cluster.progress;
      if (fragments.size() == 1)
        return done;
    }
  }
  return done;
}

// Control flow.

void Warp::jump(uint32_t target, uint32_t taken) {
  Fragment &running = fragments[current];
  uint32_t others = running.mask & ~taken;
  const bool back = target <= running.pc;
  if (!others) {
    running.backward_jumps += back;
    running.pc = target;
    jumped_back = back;
    return;
  }
  Fragment other = running;
  other.mask = others;
  ++other.pc;
  running.mask = taken;
  running.backward_jumps += back;
  running.pc = target;
  fragments.push_back(std::move(other));
  jumped_back = back;
}

bool Warp::equals(const Storage &earlier, const LoopSlice &slice) const {
  if (local_memory != earlier.local_memory)
    return false;
  if (slice.whole)
    return registers == earlier.registers && written == earlier.written;
  return std::all_of(slice.registers.begin(), slice.registers.end(), [&](const LoopSlice::RegisterBytes &one) {
    return written[one.number] == earlier.written[one.number] &&
           std::memcmp(&registers[one.slot], &earlier.registers[one.slot], one.bytes) == 0;
  });
}

void Warp::call(uint32_t target) {
  uint32_t back = fragments[current].pc + 1;
  jump(target, mask);
  fragments[current].stack.push_back(back);
}

void Warp::return_from_call() {
  if (fragments[current].stack.empty()) {
    exit_lanes();
    return;
  }
  jump(fragments[current].stack.back(), mask);
  fragments[current].stack.pop_back();
}

void Warp::exit_lanes() {
  if (machine.options.checks)
    check_exit_pending();
  Fragment &running = fragments[current];
  uint32_t exiting = mask;
  live &= ~exiting;
  running.mask &= ~exiting;
  ++running.pc;
  remove_empty_fragments();
  if (!live && index / warpgroup_warps < cta.warpgroups.size())
    cta.warpgroups[index / warpgroup_warps].check_exit(*this);
  ++cluster.progress;
  machine.changed();
  cta.handle_exit(*this);
}

void Warp::check_exit_pending() {
  for (uint32_t lane = 0; lane < lane_count; ++lane)
    if (mask >> lane & 1)
      if (AsyncQueue *stores = find_queue(QueueKind::BulkGroup, lane))
        if (clock.known.happened[stores->agent] < stores->issued)
          trap_lane(lane, trap_kind::exit_pending,
                    "the thread exits with bulk stores that it has not waited for (cp.async.bulk.wait_group)");
  if (AsyncQueue *copies = find_queue(QueueKind::CopyAsync))
    for (uint32_t lane = 0; lane < lane_count; ++lane)
      if ((mask >> lane & 1) && copies->latest_copies[lane] > clock.known.happened[copies->agent])
        trap_lane(lane, trap_kind::exit_pending,
                  "the thread exits with copies of cp.async that it has not waited for (cp.async.wait_group)");
}

// Registers.

void Warp::set_predicate(const Operand &operand, uint32_t values) {
  uint32_t *stored = lanes<uint32_t>(operand);
  *stored = (*stored & ~mask) | (values & mask);
  wrote(operand);
}

uint64_t Warp::bits(const Operand &operand, uint32_t lane) const {
  uint64_t value = 0;
  size_t size = operand.size;
  std::memcpy(&value, &registers[operand.slot + lane * size], std::min<size_t>(size, 8));
  return value;
}

void Warp::set_bits(const Operand &operand, uint32_t lane, uint64_t value) {
  size_t size = operand.size;
  uint64_t wide[2] = {value, 0};
  std::memcpy(&registers[operand.slot + lane * size], wide, size);
}

uint16_t Warp::defined_bytes(const Operand &operand, uint32_t lane) const {
  if (written[operand.number] >> lane & 1)
    return uint16_t((1u << operand.size) - 1);
  auto partly = partly_written.find(operand.number);
  return partly == partly_written.end() ? uint16_t(0) : partly->second[lane];
}

void Warp::set_defined_bytes(const Operand &operand, uint32_t lane, uint16_t bytes) {
  uint16_t all = uint16_t((1u << operand.size) - 1);
  if (!operand.number)
    return;
  if (operand.size && (bytes & all) == all) {
    written[operand.number] |= 1u << lane;
    return;
  }
  written[operand.number] &= ~(1u << lane);
  partly_written[operand.number][lane] = bytes;
}

void Warp::mark_undefined(const Operand &operand, uint32_t lanes_undefined) {
  for (uint32_t lane = 0; lane < lane_count; ++lane)
    if (lanes_undefined >> lane & 1)
      set_defined_bytes(operand, lane, 0);
}

void Warp::wrote_undefined(const Operand &operand, uint32_t lanes_written) {
  DefinedBytes defined = executing->defined_bytes;
  for (uint32_t lane = 0; lane < lane_count; ++lane) {
    if (!(lanes_written >> lane & 1))
      continue;
    if (!(undefined_lanes >> lane & 1))
      written[operand.number] |= 1u << lane;
    else
      set_defined_bytes(operand, lane, defined ? defined(*this, *executing, operand, lane) : uint16_t(0));
  }
}

void Warp::undefined_register(const Operand &operand, uint32_t size, uint32_t lanes) {
  auto found = in_flight_registers.find(operand.number);
  if (found != in_flight_registers.end() && found->second.will_be_written)
    trap(trap_kind::in_flight, "'" + operand.text + "' is read before " + found->second.until + " has completed it",
         {"written by line " + std::to_string(found->second.line)});
  if (!machine.options.checks)
    return;
  if (executing->propagates_undefined) {
    undefined_lanes |= lanes & ~written[operand.number];
    return;
  }
  const uint16_t needed = uint16_t((1u << size) - 1);
  for (uint32_t lane = 0; lane < lane_count; ++lane) {
    if (!(lanes >> lane & 1))
      continue;
    uint16_t defined = defined_bytes(operand, lane);
    if (size ? (defined & needed) != needed : !(written[operand.number] >> lane & 1))
      trap_lane(lane, trap_kind::uninitialised,
                (operand.text.empty() ? "the address register of '" + executing->text : "register '" + operand.text) +
                    "' is read but " + (defined ? "only some of its bytes are defined" : "has no defined value") +
                    undefined_load);
  }
}

void Warp::loaded_undefined(const Cta &owner, uint64_t offset, uint64_t size) {
  undefined_load =
      ", after '" + executing->text + "' in line " + std::to_string(executing->line) +
      " has read shared memory of CTA rank " + std::to_string(owner.rank) + " at " + hexadecimal(offset) + " (" +
      std::to_string(size) + " bytes)" +
      (owner.shadow.left_undefined(offset, size) ? ", which includes padding that a tensor copy leaves undefined"
                                                 : ", which was never written");
}

Cta *Warp::owner_of_shared(const uint8_t *bytes) const {
  for (const auto &owner : cluster.ctas)
    if (bytes >= owner->shared.data() && bytes < owner->shared.data() + owner->shared.size())
      return owner.get();
  return nullptr;
}

void Warp::trap_unsupported(const Instruction &next) {
  const auto &all = machine.program.unsupported;
  const auto one = std::find_if(all.begin(), all.end(), [&](const Unsupported &row) { return row.line == next.line; });
  trap(trap_kind::unsupported,
       "the simulator does not support " + (one == all.end() ? "'" + next.text + "'" : one->text));
}

void Warp::touch_for_write(const Operand &operand) {
  touched_registers[operand.number] = true;
  auto found = in_flight_registers.find(operand.number);
  if (found != in_flight_registers.end() && operand.number)
    trap(trap_kind::in_flight, "'" + operand.text + "' is overwritten before " + found->second.until + " has completed",
         {std::string(found->second.will_be_written ? "written" : "read") + " by line " +
          std::to_string(found->second.line)});
}

void Warp::mark_in_flight(const Operand &operand, bool will_be_written, const char *until, bool is_complete) {
  if (!operand.number)
    return;
  auto [found, fresh] =
      in_flight_registers.emplace(operand.number, InFlight{will_be_written, until, executing->line, 0, ~0u});
  ++found->second.count;
  if (!fresh && will_be_written)
    found->second.will_be_written = true;
  if (will_be_written) {
    if (is_complete)
      found->second.defined_lanes = written[operand.number];
    else
      partly_written.erase(operand.number);
    written[operand.number] &= ~mask;
  }
  tracking = true;
}

void Warp::clear_in_flight(const Operand &operand) {
  auto found = in_flight_registers.find(operand.number);
  if (found == in_flight_registers.end())
    return;
  if (--found->second.count == 0) {
    // Another operation in flight may still write the register.
    if (found->second.will_be_written)
      written[operand.number] |= live & found->second.defined_lanes;
    in_flight_registers.erase(found);
  }
  tracking = !in_flight_registers.empty() || machine.program.uses_wgmma;
}

void Warp::not_uniform(const Operand &operand) {
  trap(trap_kind::divergence, "'" + executing->text + "' needs the same value of '" + operand.text + "' in all lanes");
}

// Traps.

void Warp::trap(const char *kind, const std::string &message, std::vector<std::string> notes) {
  trap_lane(first_lane(), kind, message, std::move(notes));
}

void Warp::trap_lane(uint32_t lane, const char *kind, const std::string &message, std::vector<std::string> notes) {
  machine.trap(origin(lane), kind, message, std::move(notes));
}

void Warp::unconfirmed(const std::string &behaviour) { machine.unconfirmed(origin(first_lane()), behaviour); }

} // namespace ptxsim
