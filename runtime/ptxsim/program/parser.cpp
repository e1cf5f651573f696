#include "program/parser.h"

#include <algorithm>
#include <cstring>

namespace ptxsim {

static bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  for (std::string_view candidate : words)
    if (word == candidate)
      return true;
  return false;
}

void Parser::parse() {
  program.locations.emplace_back();
  location_files.push_back(0);
  scopes.emplace_back();
  while (!cursor.at_end())
    top_level();
  // A .file may follow the .loc that names it.
  for (size_t i = 1; i < program.locations.size(); ++i)
    program.locations[i].file = files[location_files[i]];
  assign_shared_addresses();
  allocate_globals();
}

void Parser::top_level() {
  if (cursor.take('@')) { // @@DWARF
    cursor.skip_line();
    return;
  }
  bool external = false;
  for (;;) {
    std::string_view word = cursor.directive();
    if (word.empty())
      cursor.error("expected a directive, found " + cursor.found());
    if (one_of(word, {"visible", "weak", "common"}))
      continue;
    if (word == "extern") {
      external = true;
      continue;
    }
    if (word == "version") {
      double version;
      const uint64_t bits = cursor.literal().bits;
      std::memcpy(&version, &bits, sizeof(version));
      program.version = uint32_t(version * 10 + 0.5);
    } else if (word == "target") {
      program.target = cursor.expect_name("a target");
      while (cursor.take(','))
        cursor.expect_name("a target option");
    } else if (word == "address_size") {
      if (cursor.literal().bits != 64)
        cursor.error("expected .address_size 64");
    } else if (word == "file") {
      file();
    } else if (word == "loc") {
      location();
    } else if (word == "section") {
      cursor.directive();
      cursor.name();
      cursor.skip_braces();
    } else if (one_of(word, {"pragma", "alias"})) {
      cursor.skip_past(';');
    } else if (word == "entry" || word == "func") {
      function(word == "entry");
    } else if (word == "global") {
      variable(Space::Global, -1, external);
    } else if (word == "const") {
      variable(Space::Const, -1, external);
    } else if (word == "shared") {
      variable(Space::SharedCta, -1, external);
    } else {
      cursor.error("expected a module directive, found '." + std::string(word) + "'");
    }
    return;
  }
}

void Parser::file() {
  uint32_t number = uint32_t(cursor.literal().bits);
  files[number] = cursor.quoted();
  while (cursor.take(','))
    cursor.literal();
}

void Parser::location() {
  uint32_t file = uint32_t(cursor.literal().bits);
  uint32_t line = uint32_t(cursor.literal().bits);
  cursor.literal(); // column
  if (cursor.take(',')) {
    cursor.take_word("function_name");
    cursor.name();
    if (cursor.take('+'))
      cursor.literal();
    if (cursor.take(',')) {
      cursor.take_word("inlined_at");
      for (int i = 0; i < 3; ++i)
        cursor.literal();
    }
  }
  const SourceLocation &last = program.locations.back();
  if (last.line != line || location_files.back() != file) {
    program.locations.push_back({{}, line});
    location_files.push_back(file);
  }
  current_location = uint32_t(program.locations.size() - 1);
}

std::array<uint32_t, 3> Parser::triple() {
  std::array<uint32_t, 3> values = {1, 1, 1};
  for (size_t i = 0; i < 3; ++i) {
    values[i] = uint32_t(cursor.literal().bits);
    if (!cursor.take(','))
      break;
  }
  return values;
}

/// Registers per thread at the start of the kernel, as ptxas 13.5 determines them: .maxnreg, or an equal share of the
/// register file if .minnctapersm and the number of threads are given. They are allocated in units of 8 per thread.
static uint32_t launch_registers(const Function &function, uint64_t max_registers, uint64_t min_ctas) {
  constexpr uint64_t register_file = 64 * 1024;
  constexpr uint64_t unit = 8, maximum = 256;
  if (max_registers)
    return uint32_t(std::min((max_registers + unit - 1) / unit * unit, maximum));
  const std::array<uint32_t, 3> &block =
      function.required_threads[0] ? function.required_threads : function.max_threads;
  const uint64_t threads = uint64_t(block[0]) * block[1] * block[2] * min_ctas;
  return threads ? uint32_t(std::min(register_file / threads / unit * unit, maximum)) : 0;
}

void Parser::performance_directives(Function &function) {
  uint64_t max_registers = 0, min_ctas = 0;
  for (std::string_view word = cursor.directive(); !word.empty(); word = cursor.directive()) {
    if (word == "maxntid")
      function.max_threads = triple();
    else if (word == "reqntid")
      function.required_threads = triple();
    else if (word == "reqnctapercluster")
      function.cluster = triple();
    else if (word == "maxnreg")
      max_registers = cursor.literal().bits;
    else if (word == "minnctapersm")
      min_ctas = cursor.literal().bits;
    else if (one_of(word, {"maxnctapersm", "maxclusterrank", "abi_preserve", "abi_preserve_control"}))
      cursor.literal();
    else if (word == "pragma")
      cursor.skip_past(';');
    else if (!one_of(word, {"explicitcluster", "noreturn", "blocksareclusters", "unique"}))
      cursor.error("expected a performance directive, found '." + std::string(word) + "'");
  }
  function.launch_registers = launch_registers(function, max_registers, min_ctas);
}

void Parser::function(bool entry) {
  Scope scope;
  scope.first = uint32_t(program.code.size());
  std::vector<Operand> results;
  // The results precede the name of the function, so that its index is chosen before the name is known.
  int32_t index = int32_t(program.functions.size());
  if (cursor.directive() == "attribute")
    cursor.skip_past(')');
  if (!entry && cursor.take('('))
    results = formals(scope, index);
  std::string name(cursor.expect_name("a function name"));
  for (size_t i = 0; i < program.functions.size(); ++i)
    if (program.functions[i].name == name)
      index = int32_t(i);
  if (index == int32_t(program.functions.size()))
    program.functions.emplace_back();
  Function &function = program.functions[size_t(index)];
  function.name = name;
  function.entry = entry;
  current_function = index;
  scopes.push_back(std::move(scope));
  if (cursor.take('(')) {
    if (entry)
      entry_parameters(function);
    else
      function.formals = formals(scopes.back(), index);
  }
  function.results = std::move(results);
  performance_directives(function);
  if (cursor.peek() == '{') {
    if (function.defined)
      cursor.error("redefinition of function '" + name + "'");
    function.defined = true;
    body(index);
  } else {
    cursor.expect(';');
  }
  scopes.pop_back();
  current_function = -1;
}

void Parser::body(int32_t index) {
  program.functions[size_t(index)].first = uint32_t(program.code.size());
  scopes.back().first = uint32_t(program.code.size());
  current_location = 0;
  cursor.expect('{');
  while (!cursor.take('}')) {
    if (cursor.at_end())
      cursor.error("expected '}' at the end of the function");
    statement();
  }
  // Execution that reaches the end of the body returns.
  Instruction last;
  last.text = "ret";
  last.line = cursor.line();
  last.location = current_location;
  program.code.push_back(std::move(last));
  close_scope();
  // A module-level name is visible in every function.
  for (size_t i = program.functions[size_t(index)].first; i < program.code.size(); ++i)
    for (Operand &operand : program.code[i].operands)
      resolve_names(operand, scopes.front());
  program.functions[size_t(index)].last = uint32_t(program.code.size());
}

void Parser::statement() {
  const Nesting nesting(*this);
  if (cursor.peek() == '{') {
    cursor.take('{');
    scopes.emplace_back();
    scopes.back().first = uint32_t(program.code.size());
    while (!cursor.take('}')) {
      if (cursor.at_end())
        cursor.error("expected '}'");
      statement();
    }
    close_scope();
    scopes.pop_back();
    return;
  }
  if (cursor.take(';'))
    return;
  if (cursor.peek() == '.') {
    std::string_view word = cursor.directive();
    bool external = word == "extern";
    if (external)
      word = cursor.directive();
    if (word == "reg")
      declare_registers();
    else if (word == "loc")
      location();
    else if (word == "pragma" || word == "callprototype" || word == "calltargets")
      cursor.skip_past(';');
    else if (word == "shared")
      variable(Space::SharedCta, current_function, external);
    else if (word == "local")
      variable(Space::Local, current_function, false);
    else if (word == "param")
      variable(Space::Param, current_function, false);
    else if (word == "global")
      variable(Space::Global, current_function, external);
    else if (word == "const")
      variable(Space::Const, current_function, external);
    else if (word == "section") {
      cursor.directive();
      cursor.skip_braces();
    } else
      cursor.error("expected a statement, found '." + std::string(word) + "'");
    return;
  }
  if (cursor.peek() == '@') {
    instruction({});
    return;
  }
  std::string_view word = cursor.mnemonic();
  if (word.empty())
    cursor.error("expected an instruction, found " + cursor.found());
  Scope &scope = scopes.back();
  std::string label(word);
  if (cursor.peek() == ':' && scope.labels.count(label))
    cursor.error("redefinition of label '" + label + "'");
  if (!cursor.take(':')) {
    instruction(word);
    return;
  }
  if (cursor.peek() == '.' && cursor.peek(1) == 'b') {
    cursor.directive(); // branchtargets
    do
      scope.tables[label].emplace_back(cursor.expect_name("a label"));
    while (cursor.take(','));
    cursor.expect(';');
  } else if (cursor.peek() == '.' && cursor.peek(1) == 'c') {
    cursor.skip_past(';'); // .callprototype, .calltargets
  } else {
    scope.labels[label] = uint32_t(program.code.size());
  }
}

void Parser::instruction(std::string_view mnemonic) {
  Instruction result;
  if (mnemonic.empty()) {
    cursor.expect('@');
    result.guarded = true;
    result.guard_negated = cursor.take('!');
    std::string name(cursor.expect_name("a predicate"));
    const Register *predicate = find_register(name);
    if (!predicate || !predicate->predicate)
      cursor.error("expected a predicate register, found '" + name + "'");
    result.guard_slot = predicate->slot;
    result.guard_number = predicate->number;
    mnemonic = cursor.mnemonic();
    if (mnemonic.empty())
      cursor.error("expected an instruction after the guard");
  }
  result.line = cursor.line();
  result.location = current_location;
  result.text = mnemonic;
  if (!cursor.take(';')) {
    do
      result.operands.push_back(operand());
    while (cursor.take(','));
    cursor.expect(';');
  }
  program.code.push_back(std::move(result));
}

void Parser::close_scope() {
  const Scope &scope = scopes.back();
  for (size_t i = scope.first; i < program.code.size(); ++i)
    for (Operand &operand : program.code[i].operands)
      resolve_names(operand, scope);
}

void Parser::resolve_names(Operand &operand, const Scope &scope) {
  for (Operand &element : operand.elements)
    resolve_names(element, scope);
  bool unresolved =
      (operand.kind == Operand::Kind::Unresolved && !operand.constant) || operand.kind == Operand::Kind::Address;
  if (!unresolved || operand.text.empty() || operand.variable >= 0)
    return;
  if (auto label = scope.labels.find(operand.text); label != scope.labels.end()) {
    operand.kind = Operand::Kind::Label;
    operand.target = label->second;
  } else if (auto table = scope.tables.find(operand.text); table != scope.tables.end()) {
    operand.kind = Operand::Kind::Vector;
    for (const std::string &target : table->second) {
      Operand element;
      element.text = target;
      operand.elements.push_back(element);
      resolve_names(operand.elements.back(), scope);
    }
  } else if (auto variable = scope.variables.find(operand.text); variable != scope.variables.end()) {
    operand.variable = variable->second;
  }
}

} // namespace ptxsim
