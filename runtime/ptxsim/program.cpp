#include "program.h"

#include "decoder.h"
#include "parser.h"

#include <algorithm>

namespace ptxsim {

static size_t part_count(std::string_view mnemonic) {
  return size_t(std::count(mnemonic.begin(), mnemonic.end(), '.')) + 1;
}

static void decode(Program &program, Instruction &instruction) {
  int row = find_opcode(instruction.text);
  if (row >= 0) {
    instruction.row = uint32_t(row);
    instruction.opcode = opcode_table()[size_t(row)];
  }
  std::string reason = "unknown instruction";
  if (instruction.opcode) {
    instruction.propagates_undefined = propagates_undefined(instruction.opcode->group);
    Decoder decoder(program, instruction, part_count(instruction.opcode->mnemonic));
    decoder.expect_target(instruction.opcode->targets, instruction.text);
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
