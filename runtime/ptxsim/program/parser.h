// PTX text to a Program whose registers, labels and variables are resolved, before opcodes are.
#pragma once

#include "program/cursor.h"
#include "program/program.h"

#include <map>
#include <set>
#include <unordered_map>
#include <utility>

namespace ptxsim {

class Parser {
public:
  explicit Parser(Program &program) : program(program), cursor(program.text) {}
  void parse();

private:
  struct Register {
    uint8_t size = 0;
    bool predicate = false;
    uint32_t slot = 0;
    uint32_t number = 0;
  };
  struct RegisterRange {
    uint8_t size = 0;
    bool predicate = false;
    uint64_t count = 0;
  };
  /// A function body or a { } within one.
  struct Scope {
    std::unordered_map<std::string, Register> registers;
    std::vector<std::pair<std::string, RegisterRange>> ranges;
    std::unordered_map<std::string, uint32_t> labels;
    std::unordered_map<std::string, std::vector<std::string>> tables; // .branchtargets
    std::unordered_map<std::string, int32_t> variables;
    uint32_t first = 0; // index of the first instruction
  };

  /// Bounds the recursion of the parser over nested braces, brackets and signs.
  class Nesting {
  public:
    explicit Nesting(Parser &parser) : depth(parser.depth) {
      constexpr uint32_t maximum_depth = 256;
      if (++depth > maximum_depth)
        parser.cursor.error("more than " + std::to_string(maximum_depth) + " nested levels");
    }
    ~Nesting() { --depth; }
    Nesting(const Nesting &) = delete;
    Nesting &operator=(const Nesting &) = delete;

  private:
    uint32_t &depth;
  };

  void top_level();
  void function(bool entry);
  void entry_parameters(Function &function);
  std::vector<Operand> formals(Scope &scope, int32_t index);
  void performance_directives(Function &function);
  void body(int32_t index);
  void statement();
  void close_scope();
  [[noreturn]] void refuse_directive(const char *expected, std::string_view directive) const;
  void declare_registers();
  void variable(Space space, int32_t function, bool external);
  void initialiser(Variable &variable, Type type, size_t element);
  void initialiser_list(Variable &variable, Type type, size_t &element);
  void location();
  void file();
  void instruction(std::string_view mnemonic);
  Operand operand();
  Operand address();
  Operand vector(char close);
  Operand symbol_or_register(std::string_view name);
  int64_t constant_expression();
  int64_t constant_sum(int64_t value);
  int64_t constant_product(int64_t value);
  int64_t constant_primary();
  const Register *find_register(const std::string &name);
  Register new_register(uint8_t size, bool predicate);
  uint32_t alignment_literal();
  uint64_t size_of(Type type, uint64_t count);
  uint64_t allocate_local(uint64_t size, uint32_t alignment);
  void resolve_names(Operand &operand, const Scope &scope);
  void assign_shared_addresses();
  uint64_t symbol_address(const Variable &initialised, const std::string &name) const;
  void allocate_globals();
  std::array<uint32_t, 3> triple();

  Program &program;
  Cursor cursor;
  std::vector<Scope> scopes;       // [0] is the module
  std::set<int32_t> declared_only; // variables of the module that have only .extern declarations
  std::map<uint32_t, std::string> files;
  std::vector<uint32_t> location_files; // by location
  uint32_t depth = 0;
  uint32_t current_location = 0;
  int32_t current_function = -1;
};

} // namespace ptxsim
