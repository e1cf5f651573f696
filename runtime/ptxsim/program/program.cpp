#include "program/program.h"

#include "execution/defined_bytes.h"
#include "program/decoder.h"
#include "program/instruction_names.h"
#include "program/modifier_order.h"
#include "program/parser.h"

#include <algorithm>

namespace ptxsim {

static size_t part_count(std::string_view mnemonic) {
  return size_t(std::count(mnemonic.begin(), mnemonic.end(), '.')) + 1;
}

/// True if the instruction computes each of two elements from the same elements of sources of one type.
static bool is_elementwise_pair(std::string_view canonical, const Instruction &instruction) {
  const std::string_view name = canonical.substr(0, canonical.find('.'));
  const std::string_view type = canonical.substr(canonical.rfind('.') + 1);
  const auto is_one_of = [](std::string_view word, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  return is_one_of(name, {"add", "sub", "mul", "fma", "min", "max", "abs", "neg", "ex2", "tanh"}) &&
         is_one_of(type, {"f16x2", "bf16x2", "f32x2", "u16x2", "s16x2"}) &&
         std::all_of(instruction.operands.begin(), instruction.operands.end(), [&](const Operand &operand) {
           return operand.kind == Operand::Kind::Register && operand.size == instruction.operands.front().size;
         });
}

/// True if a row of the table begins with this word.
static bool is_supported_name(std::string_view name) {
  return std::any_of(opcode_table().begin(), opcode_table().end(),
                     [&](const Opcode *row) { return row->mnemonic.substr(0, row->mnemonic.find('.')) == name; });
}

static void decode(Program &program, Instruction &instruction) {
  const std::string canonical = canonical_order(instruction.text);
  int row = find_opcode(canonical);
  if (row >= 0) {
    instruction.row = uint32_t(row);
    instruction.opcode = opcode_table()[size_t(row)];
  }
  const std::string name = canonical.substr(0, canonical.find('.'));
  if (!instruction.opcode && !is_supported_name(name) && !is_unsupported_name(name))
    throw PtxError(instruction.line, 1, "'" + name + "' is not an instruction of PTX");
  std::string reason = "unknown instruction";
  if (instruction.opcode) {
    instruction.propagates_undefined = propagates_undefined(instruction.opcode->group);
    Decoder decoder(program, instruction, canonical, part_count(instruction.opcode->mnemonic));
    if (const std::string violation = order_violation(canonical); !violation.empty())
      decoder.malformed("'" + instruction.text + "' needs " + violation);
    decoder.expect_target(instruction.opcode->targets, instruction.text);
    for (Targets targets : targets_of_form(canonical, instruction.operands.size()))
      decoder.expect_target(targets, instruction.text);
    try {
      Execute execute = instruction.opcode->decode(decoder);
      reason = decoder.remaining();
      if (decoder.empty())
        instruction.execute = execute;
      if (!instruction.defined_bytes && is_elementwise_pair(canonical, instruction))
        instruction.defined_bytes = &defined_bytes::elements;
    } catch (const UnsupportedForm &form) {
      reason = form.reason;
    }
  }
  if (!instruction.execute)
    program.unsupported.push_back({instruction.line, instruction.text + ": " + reason});
}

Program::Program(std::string source, std::vector<Unsupported> *refused) : text(std::move(source)) {
  Parser(*this).parse();
  for (Instruction &instruction : code)
    try {
      decode(*this, instruction);
    } catch (const PtxError &error) {
      if (!refused)
        throw;
      refused->push_back({error.line, error.what()});
    }
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
