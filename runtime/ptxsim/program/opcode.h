// The table of instructions: each row holds a mnemonic, its group, its decode function and its targets.
#pragma once

#include "program/program.h"
#include "program/targets.h"

#include <functional>

namespace ptxsim {

class Decoder;

/// Checks modifiers and operands, fills the instruction, and returns the function that executes it.
using Decode = std::function<Execute(Decoder &)>;

/// The group of instructions that a row is counted in.
enum class OpcodeGroup : uint8_t {
  Arithmetic, // mnemonics that integers and floats share
  Integer,
  Logic,
  Compare,
  Float,
  Convert,
  Move,
  Memory,
  Atomic,
  Control,
  Warp,
  Barrier,
  Mbarrier,
  Fence,
  Copy,
  Tma,
  Tensor
};

/// The name of the group in the counters: "integer", "float", "memory", ...
std::string_view group_name(OpcodeGroup group);

/// True if an undefined source makes the results undefined. The instructions of all other groups use their sources as
/// addresses, descriptors, data to store or operands of a barrier, where an undefined value is an error.
bool propagates_undefined(OpcodeGroup group);

struct Opcode {
  std::string_view mnemonic; // leading parts of the name: "add", "mbarrier.try_wait"; the longest match is used
  OpcodeGroup group;
  Decode decode;
  Targets targets = Targets::All;
};

using OpcodeTable = std::vector<Opcode>;

// One function per file of opcodes/, tensor/ and tma/; all of them are listed in opcode_table.cpp.
const OpcodeTable &integer_opcodes();
const OpcodeTable &logic_opcodes();
const OpcodeTable &compare_opcodes();
const OpcodeTable &float_opcodes();
const OpcodeTable &convert_opcodes();
const OpcodeTable &move_opcodes();
const OpcodeTable &memory_opcodes();
const OpcodeTable &atomic_opcodes();
const OpcodeTable &control_opcodes();
const OpcodeTable &warp_opcodes();
const OpcodeTable &barrier_opcodes();
const OpcodeTable &mbarrier_opcodes();
const OpcodeTable &fence_opcodes();
const OpcodeTable &copy_async_opcodes();
const OpcodeTable &store_async_opcodes();
const OpcodeTable &launch_control_opcodes();
const OpcodeTable &bulk_copy_opcodes();
const OpcodeTable &tensor_copy_opcodes();
const OpcodeTable &tensor_map_opcodes();
const OpcodeTable &tensor_memory_opcodes();
const OpcodeTable &tcgen05_opcodes();
const OpcodeTable &wgmma_opcodes();
const OpcodeTable &mma_sync_opcodes();
const OpcodeTable &matrix_opcodes();

/// All rows.
const std::vector<const Opcode *> &opcode_table();

/// The index into opcode_table() of the row whose mnemonic is the longest prefix (by dotted parts) of `text`; -1 if no
/// row matches.
int find_opcode(std::string_view text);

} // namespace ptxsim
