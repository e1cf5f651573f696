#include "program/decoder.h"

#include "memory/memory.h"
#include "program/special.h"

#include <algorithm>
#include <cstring>

namespace ptxsim {

static std::vector<std::string_view> split_at_dots(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    size_t dot = text.find('.');
    parts.push_back(text.substr(0, dot));
    text = dot == std::string_view::npos ? std::string_view() : text.substr(dot + 1);
  }
  return parts;
}

Decoder::Decoder(Program &program, Instruction &instruction, std::string_view canonical, size_t mnemonic_parts)
    : instruction(instruction), program(program), rest(split_at_dots(canonical)) {
  rest.erase(rest.begin(), rest.begin() + ptrdiff_t(std::min(mnemonic_parts, rest.size())));
}

bool Decoder::has(std::string_view modifier) const {
  return std::find(rest.begin(), rest.end(), modifier) != rest.end();
}

bool Decoder::take(std::string_view modifier) {
  auto found = std::find(rest.begin(), rest.end(), modifier);
  if (found == rest.end())
    return false;
  rest.erase(found);
  return true;
}

int Decoder::take_one_of(std::initializer_list<std::string_view> choices) {
  int index = 0;
  for (std::string_view choice : choices) {
    if (take(choice))
      return index;
    ++index;
  }
  return -1;
}

std::optional<Type> Decoder::take_type_if_any() {
  for (auto part = rest.begin(); part != rest.end(); ++part)
    if (std::optional<Type> type = parse_type(*part)) {
      rest.erase(part);
      return type;
    }
  return std::nullopt;
}

Type Decoder::take_type() {
  std::optional<Type> type = take_type_if_any();
  if (!type)
    malformed("'" + instruction.text + "' has no type");
  return *type;
}

Space Decoder::take_space() {
  static constexpr std::pair<std::string_view, Space> spaces[] = {{"global", Space::Global},
                                                                  {"shared", Space::SharedCta},
                                                                  {"shared::cta", Space::SharedCta},
                                                                  {"shared::cluster", Space::SharedCluster},
                                                                  {"local", Space::Local},
                                                                  {"param", Space::Param},
                                                                  {"param::entry", Space::Param},
                                                                  {"param::func", Space::Param},
                                                                  {"const", Space::Const}};
  for (auto part = rest.begin(); part != rest.end(); ++part)
    for (const auto &[name, space] : spaces)
      if (*part == name) {
        rest.erase(part);
        return space;
      }
  return Space::Generic;
}

std::optional<std::string> Decoder::take_prefixed(std::string_view prefix) {
  for (auto part = rest.begin(); part != rest.end(); ++part)
    if (part->substr(0, prefix.size()) == prefix) {
      std::string result(part->substr(prefix.size()));
      rest.erase(part);
      return result;
    }
  return std::nullopt;
}

std::string Decoder::remaining() const {
  std::string result;
  for (std::string_view part : rest)
    result += "." + std::string(part);
  return result;
}

void Decoder::malformed(const std::string &message) const { throw PtxError(instruction.line, 1, message); }

void Decoder::expect_operands(size_t least, size_t most) {
  if (count() >= least && count() <= most)
    return;
  std::string expected = least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
  malformed("'" + instruction.text + "' takes " + expected + " operands, found " + std::to_string(count()));
}

std::string Decoder::description(const Operand &operand) {
  if (operand.constant)
    return "a literal";
  if (operand.kind == Operand::Kind::Address)
    return "an address";
  if (operand.kind == Operand::Kind::Vector)
    return "a vector";
  return "'" + operand.text + "'";
}

/// The slot of this value. Equal values share a slot.
uint32_t Decoder::constant(const Constant &value) {
  std::array<uint64_t, 3> key = {uint64_t(value.kind) << 8 | value.size, value.value, value.special};
  auto [entry, fresh] = program.constant_slots.emplace(key, 0);
  if (fresh) {
    program.register_bytes = (program.register_bytes + 31) / 32 * 32;
    Constant stored = value;
    stored.slot = entry->second = program.register_bytes;
    program.register_bytes += value.size ? value.size * lane_count : 4;
    program.constants.push_back(stored);
  }
  return entry->second;
}

/// The bits of a literal as a value of this type.
static std::optional<uint64_t> literal_bits(const Operand &literal, Type type) {
  uint32_t size = type_size(type);
  if (!literal.size)
    return is_float(type) && size >= 4 && type != Type::F16x2 && type != Type::BF16x2 && type != Type::F32x2 &&
                   type != Type::TF32
               ? std::nullopt
               : std::optional<uint64_t>(literal.value);
  if (literal.size == size && (literal.size == 8 || !is_float(type) || type == Type::F32 || type == Type::TF32))
    return literal.value;
  double number;
  float narrow;
  if (literal.size == 4) {
    std::memcpy(&narrow, &literal.value, 4);
    number = narrow;
  } else {
    std::memcpy(&number, &literal.value, 8);
    narrow = float(number);
  }
  uint64_t bits = 0;
  if (type == Type::F64)
    std::memcpy(&bits, &number, 8);
  else if (type == Type::F32 || type == Type::TF32)
    std::memcpy(&bits, &narrow, 4);
  else
    return std::nullopt;
  return bits;
}

void Decoder::resolve_symbol(Operand &operand, bool as_address) {
  Constant value;
  value.size = as_address ? 8 : operand.size;
  value.value = uint64_t(as_address ? 0 : operand.offset);
  if (operand.variable < 0) {
    auto found = std::find_if(program.functions.begin(), program.functions.end(),
                              [&](const Function &function) { return function.name == operand.text; });
    if (found == program.functions.end())
      malformed("'" + operand.text + "' is not declared");
    value.value += function_address(size_t(found - program.functions.begin()));
  } else {
    const Variable &variable = program.variables[size_t(operand.variable)];
    value.value += variable.address;
    if (variable.space == Space::SharedCta)
      value.kind = variable.external ? Constant::Kind::DynamicShared : Constant::Kind::SharedAddress;
    if (variable.external)
      value.special = variable.alignment;
  }
  operand.slot = constant(value);
  operand.number = 0;
  operand.size = value.size;
}

void Decoder::source(Operand &operand, Type type, bool wide) {
  uint32_t size = type_size(type);
  if (operand.constant) {
    std::optional<uint64_t> bits = literal_bits(operand, type);
    if (!bits)
      malformed("'" + instruction.text + "' expects a literal of type ." + std::string(type_name(type)));
    operand.value = size < 8 ? *bits & ((1ull << size * 8) - 1) : *bits;
    operand.kind = Operand::Kind::Register;
    operand.size = uint8_t(size);
    operand.slot = constant({Constant::Kind::Value, uint8_t(size), 0, *bits, 0});
    return;
  }
  if (operand.kind == Operand::Kind::Unresolved) {
    if (std::optional<SpecialRegister> special = find_special(operand.text)) {
      operand.slot = constant({Constant::Kind::Special, uint8_t(size), 0, 0, uint32_t(special->special)});
    } else {
      operand.size = uint8_t(size);
      resolve_symbol(operand, false);
    }
    operand.kind = Operand::Kind::Register;
    operand.size = uint8_t(size);
    return;
  }
  if (operand.kind != Operand::Kind::Register)
    malformed("'" + instruction.text + "' expects a register, found " + description(operand));
  if (operand.negated)
    malformed("'!' needs a predicate, found '" + operand.text + "'");
  if (operand.size != size && !(wide && operand.size > size))
    malformed("'" + instruction.text + "' expects " + std::to_string(size * 8) + " bits, '" + operand.text + "' has " +
              std::to_string(operand.size * 8));
}

void Decoder::destination(Operand &operand, Type type, bool wide) {
  if (operand.kind == Operand::Kind::Sink) {
    if (!program.sink_slot) {
      program.register_bytes = (program.register_bytes + 31) / 32 * 32;
      program.sink_slot = program.register_bytes;
      program.register_bytes += 16 * lane_count;
    }
    operand.slot = program.sink_slot;
    operand.number = 0;
    operand.size = uint8_t(type_size(type));
    return;
  }
  if (operand.kind != Operand::Kind::Register || operand.constant || !operand.number)
    malformed("'" + instruction.text + "' expects a register as destination, found " + description(operand));
  uint32_t size = type_size(type);
  if (operand.size != size && !(wide && operand.size > size))
    malformed("'" + instruction.text + "' writes " + std::to_string(size * 8) + " bits, '" + operand.text + "' has " +
              std::to_string(operand.size * 8));
}

void Decoder::address(Operand &operand) {
  if (operand.kind != Operand::Kind::Address)
    malformed("'" + instruction.text + "' expects an address in brackets, found " + description(operand));
  if (operand.number) {
    if (operand.size != 4 && operand.size != 8)
      malformed("'" + instruction.text + "' expects an address of 32 or 64 bits, found " +
                std::to_string(operand.size * 8));
  } else if (!operand.text.empty()) {
    resolve_symbol(operand, true);
  } else {
    operand.slot = constant({Constant::Kind::Value, 8, 0, 0, 0});
    operand.size = 8;
  }
}

void Decoder::expect_modifiers(std::initializer_list<std::string_view> modifiers) {
  std::string expected;
  for (std::string_view modifier : modifiers)
    expected += "." + std::string(modifier);
  for (std::string_view modifier : modifiers)
    if (!take(modifier))
      malformed("expected " + expected);
}

void Decoder::expect_sync_aligned() {
  expect_modifiers({"sync", "aligned"});
  instruction.converge = Converge::All;
}

void Decoder::expect_target(Targets targets, const std::string &feature) const {
  if (!program.target.empty() && !has_target(targets, program.target))
    malformed("'" + feature + "' does not exist on target " + program.target + ", only on " +
              std::string(describe(targets)));
}

void Decoder::expect_version(uint32_t version) const {
  const auto name = [](uint32_t number) { return std::to_string(number / 10) + "." + std::to_string(number % 10); };
  if (program.version && program.version < version)
    malformed("'" + instruction.text + "' needs .version " + name(version) + ", found " + name(program.version));
}

Operand &Decoder::operand_at(size_t index) const {
  if (index >= instruction.operands.size())
    malformed("'" + instruction.text + "' has too few operands, found " + std::to_string(count()));
  return instruction.operands[index];
}

void Decoder::source(size_t index, Type type) { source(operand_at(index), type, false); }
void Decoder::source_wide(size_t index, Type type) { source(operand_at(index), type, true); }
void Decoder::destination(size_t index, Type type) { destination(operand_at(index), type, false); }
void Decoder::destination_wide(size_t index, Type type) { destination(operand_at(index), type, true); }
void Decoder::address(size_t index) { address(operand_at(index)); }

void Decoder::predicate(size_t index) {
  Operand &operand = operand_at(index);
  if (operand.constant) {
    operand.slot = constant({Constant::Kind::Value, 0, 0, operand.value ? ~0u : 0u, 0});
    operand.kind = Operand::Kind::Predicate;
  } else if (operand.kind != Operand::Kind::Predicate) {
    malformed("'" + instruction.text + "' expects a predicate, found " + description(operand));
  }
}

void Decoder::predicate_destination(size_t index) {
  Operand &operand = operand_at(index);
  if (operand.kind == Operand::Kind::Sink)
    destination(operand, Type::B32);
  else if (operand.kind != Operand::Kind::Predicate || operand.negated)
    malformed("'" + instruction.text + "' expects a predicate as destination, found " + description(operand));
}

void Decoder::vector(size_t index, Type type, size_t expected, bool is_source, bool wide) {
  Operand &operand = operand_at(index);
  if (operand.kind != Operand::Kind::Vector) {
    Operand whole;
    whole.kind = Operand::Kind::Vector;
    whole.elements.push_back(std::move(operand));
    operand = std::move(whole);
  }
  if (operand.elements.size() != expected)
    malformed("'" + instruction.text + "' expects " + std::to_string(expected) + " registers, found " +
              std::to_string(operand.elements.size()));
  for (Operand &element : operand.elements)
    is_source ? source(element, type, wide) : destination(element, type, wide);
}

void Decoder::label(size_t index) {
  Operand &operand = operand_at(index);
  if (operand.kind != Operand::Kind::Label)
    malformed("label '" + operand.text + "' is not declared");
}

bool Decoder::is_vector(size_t index) const { return operand_at(index).kind == Operand::Kind::Vector; }

int64_t Decoder::immediate(size_t index) const {
  const Operand &operand = operand_at(index);
  if (!operand.constant || operand.size)
    malformed("'" + instruction.text + "' expects an integer literal, found " + description(operand));
  return int64_t(operand.value);
}

Outcome no_operation(Warp &, const Instruction &) { return Outcome::Next; }

} // namespace ptxsim
