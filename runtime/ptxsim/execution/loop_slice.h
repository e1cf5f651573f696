// The part of a warp's state that decides how a loop continues: a slice of the instructions that the loop executes.
#pragma once

#include "program/program.h"

#include <cstdint>
#include <vector>

namespace ptxsim {

/// How an instruction was executed: bits of LoopSlice's `executions`.
enum Execution : uint8_t { Passed = 1, Skipped = 2 }; // by lanes whose guard is true, or false

struct LoopSlice {
  struct RegisterBytes {
    uint32_t number = 0;
    uint32_t slot = 0;
    uint32_t bytes = 0;
  };

  /// The slice of the instructions with a nonzero entry in `executions`, which has one entry per instruction.
  LoopSlice(const Program &program, const std::vector<uint8_t> &executions);

  bool depends_on_time = false; // a clock may end the loop, or decides what it accesses
  bool whole = false;           // all registers belong to the state
  std::vector<RegisterBytes> registers;
};

} // namespace ptxsim
