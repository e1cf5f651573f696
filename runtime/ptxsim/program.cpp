#include "program.h"

#include "decoder.h"
#include "parser.h"

#include <algorithm>

namespace ptxsim {

static size_t part_count(std::string_view mnemonic) {
  return size_t(std::count(mnemonic.begin(), mnemonic.end(), '.')) + 1;
}

/// The groups whose instructions only compute: an undefined source makes their result undefined. All others use their
/// sources as guards, addresses, descriptors, data to store or operands of a barrier.
static bool propagates_undefined(std::string_view group) {
  static constexpr std::string_view groups[] = {"arithmetic", "integer", "logic", "compare",
                                                "float",      "convert", "move"};
  return std::find(std::begin(groups), std::end(groups), group) != std::end(groups);
}

/// The matrix units of one architecture: ptxas refuses their instructions for any other.
static void check_target(const Program &program, const Instruction &instruction) {
  struct Row {
    std::string_view prefix;
    std::initializer_list<std::string_view> targets;
  };
  static const Row rows[] = {
      {"wgmma.", {"sm_90a"}},
      {"tcgen05.", {"sm_100a", "sm_100f", "sm_101a", "sm_101f", "sm_103a", "sm_103f", "sm_110a", "sm_110f"}},
  };
  for (const Row &row : rows)
    if (instruction.opcode->mnemonic.substr(0, row.prefix.size()) == row.prefix &&
        std::find(row.targets.begin(), row.targets.end(), program.target) == row.targets.end())
      throw PtxError(instruction.line, 1,
                     "'" + instruction.text + "' does not exist on target " + program.target + ", only on " +
                         std::string(*row.targets.begin()));
}

static void decode(Program &program, Instruction &instruction) {
  int row = find_opcode(instruction.text);
  if (row >= 0) {
    instruction.row = uint32_t(row);
    instruction.opcode = opcode_table()[size_t(row)];
  }
  std::string reason = "no such instruction in the table";
  if (instruction.opcode && !program.target.empty())
    check_target(program, instruction);
  if (instruction.opcode) {
    instruction.propagates_undefined = propagates_undefined(instruction.opcode->group);
    Decoder decoder(program, instruction, part_count(instruction.opcode->mnemonic));
    try {
      Execute execute = instruction.opcode->decode(decoder);
      reason = decoder.remaining();
      if (decoder.empty())
        instruction.execute = execute;
    } catch (const UnsupportedForm &form) {
      reason = form.reason;
    }
  }
  if (!instruction.execute)
    program.unsupported.push_back({instruction.line, instruction.text + ": " + reason});
}

Program::Program(std::string source) : text(std::move(source)) {
  Parser(*this).parse();
  for (Instruction &instruction : code)
    decode(*this, instruction);
}

const Function &Program::entry(std::string_view name) const {
  for (const Function &function : functions)
    if (function.entry && function.defined && function.name == name)
      return function;
  std::string known;
  for (const Function &function : functions)
    if (function.entry)
      known += (known.empty() ? "" : ", ") + function.name;
  throw PtxError(0, 0, "no entry '" + std::string(name) + "', found " + (known.empty() ? "none" : known));
}

} // namespace ptxsim
