#include "program/parser.h"

#include "memory/memory.h"

#include <algorithm>
#include <cstring>

namespace ptxsim {

static uint64_t align_up(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

uint32_t Parser::alignment_literal() {
  uint64_t value = cursor.literal().bits;
  if (value == 0 || value > 1024 || (value & (value - 1)))
    cursor.error("expected a power of two up to 1024 as alignment, found " + std::to_string(value));
  return uint32_t(value);
}

/// The size of an array of `count` elements; a type narrower than a byte cannot be stored.
uint64_t Parser::size_of(Type type, uint64_t count) {
  constexpr uint64_t limit = 1ull << 30;
  if (!type_size(type))
    cursor.error("a variable cannot be of type ." + std::string(type_name(type)));
  if (count > limit / type_size(type))
    cursor.error("a variable exceeds 2^30 bytes");
  return count * type_size(type);
}

Parser::Register Parser::new_register(uint8_t size, bool predicate) {
  Register result{size, predicate, 0, program.register_count++};
  // A predicate is one 32-bit word; slots are aligned for whole-register vector loads.
  uint32_t bytes = predicate ? 4 : size * lane_count;
  program.register_bytes = uint32_t(align_up(program.register_bytes, predicate ? 4 : 32));
  result.slot = program.register_bytes;
  program.register_bytes += bytes;
  return result;
}

const Parser::Register *Parser::find_register(const std::string &name) {
  for (size_t depth = scopes.size(); depth-- > 0;) {
    Scope &scope = scopes[depth];
    if (auto found = scope.registers.find(name); found != scope.registers.end())
      return &found->second;
    for (const auto &[prefix, range] : scope.ranges) {
      if (name.size() <= prefix.size() || name.compare(0, prefix.size(), prefix) != 0)
        continue;
      std::string_view digits = std::string_view(name).substr(prefix.size());
      if (digits.find_first_not_of("0123456789") != std::string_view::npos || digits.size() > 9 ||
          (digits.size() > 1 && digits[0] == '0') || std::stoull(std::string(digits)) >= range.count)
        continue;
      return &scope.registers.emplace(name, new_register(range.size, range.predicate)).first->second;
    }
    if (scope.variables.count(name))
      return nullptr;
  }
  return nullptr;
}

/// Reports another directive than a type, or none.
void Parser::refuse_directive(const char *expected, std::string_view directive) const {
  cursor.error(std::string("expected ") + expected + ", found " +
               (directive.empty() ? cursor.found() : "'." + std::string(directive) + "'"));
}

void Parser::declare_registers() {
  std::string_view word = cursor.directive();
  if (word == "v2" || word == "v4")
    cursor.error("vector registers are not supported");
  std::optional<Type> type = parse_type(word);
  if (!type)
    refuse_directive("a register type", word);
  bool predicate = *type == Type::Pred;
  uint8_t size = uint8_t(type_size(*type));
  do {
    std::string name(cursor.expect_name("a register name"));
    if (cursor.take('<')) {
      uint64_t count = cursor.literal().bits;
      cursor.expect('>');
      scopes.back().ranges.push_back({name, {size, predicate, count}});
    } else if (!scopes.back().registers.emplace(name, new_register(size, predicate)).second) {
      cursor.error("redefinition of register '" + name + "'");
    }
  } while (cursor.take(','));
  cursor.expect(';');
}

uint64_t Parser::allocate_local(uint64_t size, uint32_t alignment) {
  uint64_t offset = align_up(program.local_bytes, alignment);
  // PTX ISA 5.1.5: local memory of a thread.
  constexpr uint64_t maximum_local_bytes = 512 * 1024;
  if (size > maximum_local_bytes - std::min(offset, maximum_local_bytes))
    cursor.error("local memory and parameters exceed " + std::to_string(maximum_local_bytes) + " bytes");
  program.local_bytes = uint32_t(offset + size);
  return offset;
}

/// Parses a declaration after its state space: [.align n] [.v2|.v4] .type name [dims] [= initialiser] {, ...} ;
void Parser::variable(Space space, int32_t function, bool external) {
  uint32_t alignment = 0;
  uint32_t width = 1;
  std::optional<Type> type;
  while (!type) {
    std::string_view word = cursor.directive();
    if (word == "align")
      alignment = alignment_literal();
    else if (word == "attribute")
      cursor.skip_past(')');
    else if (word == "v2" || word == "v4" || word == "v8")
      width = uint32_t(word[1] - '0');
    else if (!(type = parse_type(word)))
      refuse_directive("a type", word);
  }
  uint32_t element = type_size(*type) * width;
  size_of(*type, width);
  do {
    Variable result;
    result.name = cursor.expect_name("a variable name");
    result.space = space;
    result.function = function;
    result.alignment = alignment ? alignment : element;
    uint64_t count = 1;
    bool unsized = false;
    while (cursor.take('[')) {
      if (cursor.peek() == ']')
        unsized = true;
      else
        count = size_of(Type::B8, count) * uint64_t(constant_expression());
      cursor.expect(']');
    }
    if (cursor.take('=')) {
      size_t index = 0;
      if (cursor.peek() == '{')
        initialiser_list(result, *type, index);
      else
        initialiser(result, *type, 0);
      if (unsized)
        count = align_up(result.bytes.size(), element) / element;
      else if (result.bytes.size() > size_of(*type, count) * width)
        cursor.error("'" + result.name + "' has more initial values than elements");
    } else if (unsized && !(external && space == Space::SharedCta)) {
      count = 0;
    }
    result.size = unsized && space == Space::SharedCta ? 0 : size_of(*type, count) * width;
    result.external = external && unsized;
    if (space == Space::Local || space == Space::Param)
      result.address = allocate_local(result.size, result.alignment);
    int32_t index = int32_t(program.variables.size());
    auto [known, fresh] = scopes.back().variables.emplace(result.name, index);
    if (!fresh) {
      Variable &earlier = program.variables[size_t(known->second)];
      // A variable of the module may be declared .extern before or after its definition.
      const bool only_declared = declared_only.count(known->second) != 0;
      if (function >= 0 || !(external || only_declared))
        cursor.error("redefinition of variable '" + result.name + "'");
      if (!external || only_declared)
        earlier = std::move(result);
      if (!external)
        declared_only.erase(known->second);
    } else {
      if (external)
        declared_only.insert(index);
      program.variables.push_back(std::move(result));
    }
  } while (cursor.take(','));
  cursor.expect(';');
}

void Parser::initialiser_list(Variable &variable, Type type, size_t &element) {
  const Nesting nesting(*this);
  cursor.expect('{');
  if (cursor.take('}'))
    return;
  do {
    if (cursor.peek() == '{')
      initialiser_list(variable, type, element);
    else
      initialiser(variable, type, element++);
  } while (cursor.take(','));
  cursor.expect('}');
}

void Parser::initialiser(Variable &variable, Type type, size_t element) {
  uint32_t size = type_size(type);
  size_t offset = element * size;
  variable.bytes.resize(offset + size, 0);
  bool generic = cursor.take_word("generic");
  if (generic)
    cursor.expect('(');
  if (std::string_view name = cursor.name(); !name.empty()) {
    if (size != 8)
      cursor.error("the address of '" + std::string(name) + "' needs 64 bits, the element has " +
                   std::to_string(size * 8));
    Variable::Reference reference{offset, std::string(name), 0};
    if (generic)
      cursor.expect(')');
    if (cursor.peek() == '+' || cursor.peek() == '-')
      reference.addend = constant_expression();
    variable.references.push_back(reference);
    return;
  }
  Operand value = operand();
  uint64_t bits = value.value;
  if (is_float(type) && value.size) {
    double number;
    if (value.size == 4) {
      float narrow;
      std::memcpy(&narrow, &bits, 4);
      number = narrow;
    } else {
      std::memcpy(&number, &bits, 8);
    }
    float narrow = float(number);
    if (size == 8)
      std::memcpy(&bits, &number, 8);
    else if (size == 4)
      std::memcpy(&bits, &narrow, 4);
    else
      cursor.error("expected the bits of the float as an integer");
  }
  std::memcpy(variable.bytes.data() + offset, &bits, size);
}

void Parser::entry_parameters(Function &function) {
  // PTX ISA 5.1.6.1: the parameters of a kernel, from PTX 8.1 for sm_70 and later.
  constexpr uint32_t maximum_parameter_bytes = 32764;
  function.parameters.clear();
  uint32_t offset = 0;
  while (!cursor.take(')')) {
    if (cursor.directive() != "param")
      cursor.error("expected .param");
    Variable result;
    result.space = Space::Param;
    result.entry_parameter = true;
    result.function = current_function;
    uint32_t alignment = 0;
    std::optional<Type> type;
    for (std::string_view word = cursor.directive(); !word.empty(); word = cursor.directive()) {
      if (word == "align")
        (type && result.alignment ? result.alignment : alignment) = alignment_literal();
      else if (word == "ptr") // .ptr .space .align n: describes the memory that the pointer addresses
        result.alignment = 1;
      else if (auto found = parse_type(word))
        type = found, result.alignment = 0;
    }
    if (!type)
      cursor.error("expected the type of a parameter");
    result.name = cursor.expect_name("a parameter name");
    uint64_t count = 1;
    if (cursor.take('[')) {
      count = uint64_t(constant_expression());
      cursor.expect(']');
    }
    result.size = size_of(*type, count);
    result.alignment = alignment ? alignment : type_size(*type);
    offset = uint32_t(align_up(offset, result.alignment));
    if (result.size > maximum_parameter_bytes - std::min(offset, maximum_parameter_bytes))
      cursor.error("the parameters of '" + function.name + "' exceed " + std::to_string(maximum_parameter_bytes) +
                   " bytes");
    result.address = offset;
    function.parameters.push_back({result.name, uint32_t(result.size), result.alignment, offset});
    offset += uint32_t(result.size);
    if (!scopes.back().variables.emplace(result.name, int32_t(program.variables.size())).second)
      cursor.error("redefinition of parameter '" + result.name + "'");
    program.variables.push_back(std::move(result));
    cursor.take(',');
  }
  function.parameter_bytes = offset;
}

/// Parameters or results of a device function: registers, or .param variables in local memory.
std::vector<Operand> Parser::formals(Scope &scope, int32_t index) {
  std::vector<Operand> result;
  while (!cursor.take(')')) {
    std::string_view space = cursor.directive();
    uint32_t alignment = 0;
    std::optional<Type> type;
    for (std::string_view word = cursor.directive(); !word.empty(); word = cursor.directive()) {
      if (word == "align")
        alignment = alignment_literal();
      else if (auto found = parse_type(word))
        type = found;
    }
    if (!type || (space != "reg" && space != "param"))
      cursor.error("expected .reg or .param and a type");
    std::string name(cursor.name());
    uint64_t count = 1;
    if (cursor.take('[')) {
      count = cursor.peek() == ']' ? 0 : uint64_t(constant_expression());
      cursor.expect(']');
    }
    Operand formal;
    formal.text = name;
    if (space == "reg") {
      Register fresh = new_register(uint8_t(type_size(*type)), *type == Type::Pred);
      formal.kind = fresh.predicate ? Operand::Kind::Predicate : Operand::Kind::Register;
      formal.size = fresh.size;
      formal.slot = fresh.slot;
      formal.number = fresh.number;
      scope.registers[name] = fresh;
    } else {
      Variable variable;
      variable.name = name;
      variable.space = Space::Param;
      variable.function = index;
      variable.size = size_of(*type, count);
      variable.alignment = alignment ? alignment : type_size(*type);
      variable.address = allocate_local(variable.size, variable.alignment);
      formal.kind = Operand::Kind::Address;
      formal.variable = int32_t(program.variables.size());
      scope.variables[name] = formal.variable;
      program.variables.push_back(std::move(variable));
    }
    result.push_back(std::move(formal));
    cursor.take(',');
  }
  return result;
}

/// Throws if the static shared memory exceeds the limit of ptxas.
static uint32_t checked_shared_bytes(const Function &function, uint64_t bytes) {
  constexpr uint64_t maximum_static_shared_bytes = 48 * 1024;
  if (bytes > maximum_static_shared_bytes)
    throw PtxError(0, 0,
                   "'" + function.name + "' declares " + std::to_string(bytes) +
                       " bytes of static shared memory, the maximum is " + std::to_string(maximum_static_shared_bytes));
  return uint32_t(bytes);
}

/// Variables of the module and of device functions come first, then those of an entry. The entries share addresses.
void Parser::assign_shared_addresses() {
  auto assign_address = [](Variable &variable, uint64_t &end) {
    variable.address = align_up(end, variable.alignment);
    end = variable.address + variable.size;
  };
  auto of_entry = [&](const Variable &variable) {
    return variable.function >= 0 && program.functions[size_t(variable.function)].entry;
  };
  uint64_t common = shared_base;
  for (Variable &variable : program.variables)
    if (variable.space == Space::SharedCta && !variable.external && !of_entry(variable))
      assign_address(variable, common);
  for (size_t i = 0; i < program.functions.size(); ++i) {
    uint64_t end = common;
    for (Variable &variable : program.variables)
      if (variable.space == Space::SharedCta && !variable.external && of_entry(variable) &&
          variable.function == int32_t(i))
        assign_address(variable, end);
    program.functions[i].shared_bytes = checked_shared_bytes(program.functions[i], end - shared_base);
  }
}

/// The address of a variable or function that an initialiser names.
uint64_t Parser::symbol_address(const Variable &initialised, const std::string &name) const {
  const auto &variables = scopes.front().variables;
  if (auto found = variables.find(name); found != variables.end())
    return program.variables[size_t(found->second)].address;
  for (size_t i = 0; i < program.functions.size(); ++i)
    if (program.functions[i].name == name)
      return function_address(i);
  throw PtxError(0, 0, "'" + name + "' in the initialiser of '" + initialised.name + "' is not declared");
}

void Parser::allocate_globals() {
  for (Variable &variable : program.variables) {
    if ((variable.space != Space::Global && variable.space != Space::Const) || variable.external)
      continue;
    uint64_t alignment = std::max<uint64_t>(variable.alignment, 16);
    program.storage.push_back(std::make_unique<uint64_t[]>((variable.size + alignment) / 8 + 2));
    variable.address = align_up(reinterpret_cast<uint64_t>(program.storage.back().get()), alignment);
    variable.bytes.resize(variable.size, 0);
  }
  for (Variable &variable : program.variables)
    for (const Variable::Reference &reference : variable.references) {
      uint64_t value = symbol_address(variable, reference.name) + uint64_t(reference.addend);
      std::memcpy(variable.bytes.data() + reference.offset, &value, 8);
    }
}

} // namespace ptxsim
