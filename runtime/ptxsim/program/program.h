// PTX text, parsed and decoded: every name resolved, every instruction bound to its function.
#pragma once

#include "program/trap.h"
#include "program/type.h"

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace ptxsim {

class Warp;
struct Instruction;
struct Opcode;
struct Operand;

/// How a warp continues after an instruction.
enum class Outcome : uint8_t {
  Next, // with the following instruction
  Jump, // at the program counters that the instruction has set
  Wait, // the instruction is executed again after Cluster::progress has changed
};

using Execute = Outcome (*)(Warp &, const Instruction &);

/// The defined bytes of `destination` in a lane, as a mask, for an instruction with undefined bytes in a source. Called
/// before the destination is marked as written.
using DefinedBytes = uint16_t (*)(Warp &, const Instruction &, const Operand &destination, uint32_t lane);

inline constexpr uint32_t lane_count = 32;

struct Operand {
  enum class Kind : uint8_t {
    Register,  // slot, number, size: a variable, an immediate or a special register, one value per lane
    Predicate, // slot, number: 32 bits, one per lane; `negated` for !p
    Address,   // the register of slot and number, or a constant with number 0, plus offset
    Vector,    // {a, b, ...}: elements
    Label,     // target: index into Program::code
    Function,  // target: index into Program::functions
    Sink,      // _
    Unresolved // before decoding
  };
  Kind kind = Kind::Unresolved;
  uint8_t size = 0; // bytes per lane
  bool negated = false;
  bool constant = false; // an immediate; its bits are in `value`
  uint32_t slot = 0;     // byte offset of lane 0 in the register file of a warp
  uint32_t number = 0;   // of the register; register 0 is always defined
  int64_t offset = 0;
  uint64_t value = 0;
  uint32_t target = 0;
  int32_t variable = -1;         // index into Program::variables of the symbol in `text`
  std::string text;              // as written
  std::vector<Operand> elements; // of a Vector; of an Address [map, {c0, c1}] the operands after the base
};

/// Which lanes must execute an instruction together.
enum class Converge : uint8_t {
  None,
  All,    // .aligned: every lane that has not exited
  Members // .sync with a member mask in operand `mask_operand`
};

struct Instruction {
  Execute execute = nullptr;
  const Opcode *opcode = nullptr;
  uint32_t row = 0;      // index of `opcode` in the table
  uint32_t line = 0;     // of the PTX text
  uint32_t location = 0; // index into Program::locations, 0 for none
  Converge converge = Converge::None;
  uint8_t mask_operand = 0;
  bool is_poll = false;    // mbarrier.test_wait and try_wait: may return false instead of waiting
  bool reads_time = false; // mov from a clock or timer
  bool guarded = false;
  bool guard_negated = false;
  bool propagates_undefined = false;    // an undefined source makes the result undefined instead of a trap
  DefinedBytes defined_bytes = nullptr; // the defined bytes of such a result; nullptr: none
  uint32_t guard_slot = 0;
  uint32_t guard_number = 0;
  Space space = Space::Generic;
  Type type = Type::B32;             // of the operation
  Type from_type = Type::B32;        // of the source, if it differs from `type`
  std::array<int32_t, 8> settings{}; // decoded modifiers, indexed by the enum Setting of each file
  std::vector<Operand> operands;
  std::string text; // the mnemonic with its modifiers
};

struct SourceLocation {
  std::string file;
  uint32_t line = 0;
};

/// A .global, .const, .shared, .local or .param variable.
struct Variable {
  std::string name;
  Space space = Space::Global;
  uint64_t size = 0;
  uint32_t alignment = 1;
  bool external = false; // .extern .shared x[]: begins where static shared memory ends
  bool entry_parameter = false;
  int32_t function = -1;      // the function that declares it; -1: the module
  uint64_t address = 0;       // of a global or constant: the host address; else the offset within its space
  std::vector<uint8_t> bytes; // initial content
  struct Reference {          // 8 bytes of the content that hold the address of a variable or function
    uint64_t offset;
    std::string name;
    int64_t addend;
  };
  std::vector<Reference> references;
};

/// The address of a function by its index in Program::functions: a multiple of 16 other than zero.
inline constexpr uint64_t function_alignment = 16;
inline uint64_t function_address(size_t index) { return (index + 1) * function_alignment; }

struct Parameter {
  std::string name;
  uint32_t size = 0;
  uint32_t alignment = 1;
  uint32_t offset = 0;
};

struct Function {
  std::string name;
  bool entry = false;
  bool defined = false;
  uint32_t first = 0;                // index into Program::code
  uint32_t last = 0;                 // one past the end
  std::vector<Parameter> parameters; // of an entry
  std::vector<Operand> formals;      // of a device function: registers, or .param variables as addresses
  std::vector<Operand> results;
  uint32_t parameter_bytes = 0;
  std::array<uint32_t, 3> required_threads{}; // .reqntid, zero where absent
  std::array<uint32_t, 3> max_threads{};      // .maxntid
  std::array<uint32_t, 3> cluster{};          // .reqnctapercluster
  uint32_t shared_bytes = 0;                  // static
  uint32_t launch_registers = 0;              // per thread; 0: unknown to ptxas, which ignores setmaxnreg
};

/// A value of the register file that is set once when a warp starts.
struct Constant {
  enum class Kind : uint8_t { Value, Special, SharedAddress, DynamicShared };
  Kind kind = Kind::Value;
  uint8_t size = 4;
  uint32_t slot = 0;
  uint64_t value = 0; // the value, or the offset from the base that `kind` names
  uint32_t special = 0;
};

struct Unsupported {
  uint32_t line;
  std::string text;
};

class Program {
public:
  /// Parses and decodes. Throws PtxError; instructions without a row are listed in `unsupported` instead.
  /// With `refused`, an error of an instruction is appended to it instead.
  explicit Program(std::string text, std::vector<Unsupported> *refused = nullptr);
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  const Function &entry(std::string_view name) const; // throws PtxError

  std::string text;
  std::string target;   // "sm_100a"
  uint32_t version = 0; // 92 is .version 9.2
  std::vector<Instruction> code;
  std::vector<Function> functions;
  std::vector<Variable> variables;
  std::vector<SourceLocation> locations;
  std::vector<Constant> constants;
  std::vector<Unsupported> unsupported;
  uint32_t register_count = 1; // register 0 is always defined
  uint32_t register_bytes = 0; // of one warp
  uint32_t local_bytes = 0;    // of one lane
  bool uses_wgmma = false;
  bool loads_read_only = false;                               // has ld.global.nc or ldu
  uint32_t sink_slot = 0;                                     // of the values written to _
  std::map<std::array<uint64_t, 3>, uint32_t> constant_slots; // slot by kind and size, value, special
  /// Serializes runs: they share the storage of .global and .const variables, which each run resets.
  std::mutex running;
  std::vector<std::unique_ptr<uint64_t[]>> storage;
};

} // namespace ptxsim
