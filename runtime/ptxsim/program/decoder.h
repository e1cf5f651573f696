// The modifiers and operands of one instruction, for the decode function of its row.
#pragma once

#include "program/opcode.h"

#include <initializer_list>
#include <utility>

namespace ptxsim {

/// This form of the instruction is not implemented; listed in Program::unsupported.
struct UnsupportedForm {
  std::string reason;
};

class Decoder {
public:
  /// `canonical` is the text of the instruction in canonical order, which the caller keeps; its first `mnemonic_parts`
  /// words are the mnemonic.
  Decoder(Program &program, Instruction &instruction, std::string_view canonical, size_t mnemonic_parts);

  Instruction &instruction;

  // Modifiers: each is taken once. The form of the instruction is unsupported if any is left after decoding.
  bool has(std::string_view modifier) const;
  bool take(std::string_view modifier);
  /// Takes the first of `choices` that is present and returns its index; -1 if none is present.
  int take_one_of(std::initializer_list<std::string_view> choices);
  /// Takes the first of the remaining modifiers that names a type. Throws PtxError if there is none.
  Type take_type();
  std::optional<Type> take_type_if_any();
  /// Takes .global, .shared, .shared::cta, .shared::cluster, .local, .param(::entry, ::func), .const; else Generic.
  Space take_space();
  /// Takes and returns the first modifier that begins with `prefix`, without the prefix.
  std::optional<std::string> take_prefixed(std::string_view prefix);
  /// Takes all of `modifiers`. Throws PtxError if one of them is missing.
  void expect_modifiers(std::initializer_list<std::string_view> modifiers);
  /// Takes .sync.aligned: all live lanes of the warp execute the instruction together.
  void expect_sync_aligned();
  /// Throws PtxError unless ptxas accepts `feature` for the target of the program.
  void expect_target(Targets targets, const std::string &feature) const;
  /// Throws PtxError if the .version of the program is earlier than `version`: 92 is 9.2.
  void expect_version(uint32_t version) const;
  bool empty() const { return rest.empty(); }
  std::string remaining() const;

  // Operands. Each call checks operand `index` and resolves it. Throws PtxError if another operand is expected.
  size_t count() const { return instruction.operands.size(); }
  void expect_operands(size_t least, size_t most);
  void source(size_t index, Type type);
  void source_wide(size_t index, Type type); // a register may be wider than the type (ld, st, cvt)
  void destination(size_t index, Type type);
  void destination_wide(size_t index, Type type);
  void predicate(size_t index); // source: register, !register, or immediate 0/1
  void predicate_destination(size_t index);
  void vector(size_t index, Type type, size_t count, bool is_source,
              bool wide = false); // a single operand becomes a vector of one
  void address(size_t index);
  void label(size_t index);
  bool is_vector(size_t index) const;
  int64_t immediate(size_t index) const; // an integer literal, else PtxError

  // The same for an operand within a vector.
  void source(Operand &operand, Type type, bool wide = false);
  void destination(Operand &operand, Type type, bool wide = false);
  void address(Operand &operand);

  [[noreturn]] void unsupported(std::string reason) const { throw UnsupportedForm{std::move(reason)}; }
  [[noreturn]] void malformed(const std::string &message) const;
  /// An operand for a message: its text in quotes, or what it is.
  static std::string description(const Operand &operand);

  Program &program;

private:
  Operand &operand_at(size_t index) const;
  uint32_t constant(const Constant &value);
  void resolve_symbol(Operand &operand, bool as_address);
  std::vector<std::string_view> rest;
};

/// Decodes an instruction without operands that `Function` executes.
template <Execute Function> Execute decode_without_operands(Decoder &decoder) {
  decoder.expect_operands(0, 0);
  return Function;
}

/// Executes an instruction that has no effect in the simulator.
Outcome no_operation(Warp &warp, const Instruction &instruction);

} // namespace ptxsim
