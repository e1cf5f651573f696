#include "execution/loop_slice.h"

#include "program/opcode.h"

#include <algorithm>

namespace ptxsim {

namespace {

bool is_branch(const Instruction &in) { return in.opcode->mnemonic == "bra"; }

/// The carry of extended arithmetic is not an operand.
bool uses_carry(const Instruction &in) {
  const std::string &text = in.text;
  return text.find(".cc") != std::string::npos || text.rfind("addc", 0) == 0 || text.rfind("subc", 0) == 0 ||
         text.rfind("madc", 0) == 0;
}

/// True if the only effect of the instruction is the value of its first operand.
bool only_computes(const Instruction &in) { return propagates_undefined(in.opcode->group) && !uses_carry(in); }

/// Calls visit(operand) for each register of an operand.
template <class Visit> void for_each_register(const Operand &operand, Visit visit) {
  const bool holds_register = operand.kind == Operand::Kind::Register || operand.kind == Operand::Kind::Predicate ||
                              operand.kind == Operand::Kind::Address;
  if (holds_register && operand.number)
    visit(operand);
  for (const Operand &element : operand.elements)
    for_each_register(element, visit);
}

class Analysis {
public:
  Analysis(const Program &program, const std::vector<uint8_t> &executions)
      : program(program), executions(executions), relevant(program.register_count), timed(program.register_count),
        registers(program.register_count) {
    for (uint32_t at = 0; at < executions.size(); ++at)
      if (executions[at])
        loop.push_back(at);
    mark_timed();
    mark_relevant();
  }

  bool calls() const {
    return std::any_of(loop.begin(), loop.end(),
                       [&](uint32_t at) { return program.code[at].opcode->mnemonic == "call"; });
  }

  bool reads_time() const {
    return std::any_of(loop.begin(), loop.end(), [&](uint32_t at) { return program.code[at].reads_time; });
  }

  /// True if an arbitrary time can let the loop access other memory, or take a branch that it has not taken.
  bool depends_on_time() const {
    return std::any_of(loop.begin(), loop.end(), [&](uint32_t at) {
      const Instruction &in = program.code[at];
      if (only_computes(in) || has_no_effect(in))
        return false;
      const bool by_guard = in.guarded && timed[in.guard_number];
      if (is_branch(in))
        return by_guard && executions[at] != (Passed | Skipped);
      return by_guard || in_timed_region(at) || reads(in, timed);
    });
  }

  /// The registers that decide branches, addresses and stored values, except those that depend on time.
  std::vector<LoopSlice::RegisterBytes> state() const {
    std::vector<LoopSlice::RegisterBytes> result;
    for (uint32_t number = 1; number < relevant.size(); ++number)
      if (relevant[number] && !timed[number])
        result.push_back(registers[number]);
    return result;
  }

private:
  using Set = std::vector<bool>; // by register number

  static bool has_no_effect(const Instruction &in) { return in.opcode->mnemonic == "nanosleep"; }

  static bool reads(const Instruction &in, const Set &set) {
    bool result = false;
    for (size_t i = only_computes(in) ? 1 : 0; i < in.operands.size(); ++i)
      for_each_register(in.operands[i], [&](const Operand &operand) { result |= set[operand.number]; });
    return result;
  }

  bool in_timed_region(uint32_t at) const {
    return std::any_of(timed_regions.begin(), timed_regions.end(),
                       [&](const auto &region) { return at >= region.first && at < region.second; });
  }

  /// Instructions whose execution a branch decides, as a range of the text. Those that the range jumps over at its end
  /// are the other side of a conditional.
  std::pair<uint32_t, uint32_t> region(uint32_t branch) const {
    const uint32_t target = program.code[branch].operands[0].target;
    uint32_t first = std::min(branch + 1, target), last = std::max(branch, target);
    for (uint32_t at = first; at < last; ++at)
      if (executions[at] && is_branch(program.code[at]) && !program.code[at].guarded)
        last = std::max(last, program.code[at].operands[0].target);
    return {first, last};
  }

  /// Marks the registers that depend on a clock, as data or through a branch, until nothing changes.
  void mark_timed() {
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t at : loop) {
        const Instruction &in = program.code[at];
        const bool by_guard = in.guarded && timed[in.guard_number];
        if (is_branch(in) && by_guard && !has_region(at)) {
          timed_regions.push_back(region(at));
          branches.push_back(at);
          changed = true;
        }
        if (in.operands.empty() || is_branch(in))
          continue;
        if (in.reads_time || by_guard || in_timed_region(at) || (only_computes(in) && reads(in, timed)))
          changed |= mark(in.operands[0], timed);
      }
    }
  }

  bool has_region(uint32_t branch) const {
    return std::find(branches.begin(), branches.end(), branch) != branches.end();
  }

  /// Marks the registers that decide an effect, until nothing changes.
  void mark_relevant() {
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t at : loop) {
        const Instruction &in = program.code[at];
        if (has_no_effect(in))
          continue;
        if (only_computes(in) && !in.operands.empty() && !is_marked(in.operands[0], relevant))
          continue;
        if (in.guarded)
          changed |= mark_number(in.guard_number, in.guard_slot, 4, relevant);
        for (const Operand &operand : in.operands)
          changed |= mark(operand, relevant);
      }
    }
  }

  static bool is_marked(const Operand &operand, const Set &set) {
    bool result = false;
    for_each_register(operand, [&](const Operand &part) { result |= set[part.number]; });
    return result;
  }

  bool mark(const Operand &operand, Set &set) {
    bool changed = false;
    for_each_register(operand, [&](const Operand &part) {
      const bool predicate = part.kind == Operand::Kind::Predicate;
      changed |= mark_number(part.number, part.slot, predicate ? 4 : part.size * lane_count, set);
    });
    return changed;
  }

  bool mark_number(uint32_t number, uint32_t slot, uint32_t bytes, Set &set) {
    registers[number] = {number, slot, std::max(bytes, registers[number].bytes)};
    const bool changed = !set[number];
    set[number] = true;
    return changed;
  }

  const Program &program;
  const std::vector<uint8_t> &executions;
  std::vector<uint32_t> loop; // the instructions
  Set relevant, timed;
  std::vector<LoopSlice::RegisterBytes> registers; // by number
  std::vector<std::pair<uint32_t, uint32_t>> timed_regions;
  std::vector<uint32_t> branches; // of timed_regions
};

} // namespace

LoopSlice::LoopSlice(const Program &program, const std::vector<uint8_t> &executions) {
  const Analysis analysis(program, executions);
  whole = analysis.calls();
  depends_on_time = whole ? analysis.reads_time() : analysis.depends_on_time();
  registers = analysis.state();
}

} // namespace ptxsim
