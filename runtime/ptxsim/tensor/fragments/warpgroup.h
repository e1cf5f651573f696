// A warpgroup: four consecutive warps that execute the wgmma instructions together (PTX ISA 9.7.15).
#pragma once

#include "memory/clocks.h"
#include "program/program.h"

#include <array>
#include <deque>
#include <memory>
#include <string>

namespace ptxsim {

class Warp;
struct WarpgroupMma; // tensor/fragments/wgmma_opcodes.cpp

inline constexpr uint32_t warpgroup_warps = 4;

/// A wgmma instruction that at least one warp of the group has executed.
struct WarpgroupStep {
  const Instruction *instruction = nullptr;
  uint32_t arrived = 0;              // warps, as a mask
  VectorClock happened;              // the accesses that all arrived warps know
  VectorClock proxied;               // the same for the async proxy
  std::shared_ptr<WarpgroupMma> mma; // of wgmma.mma_async

  bool complete() const { return arrived == (1u << warpgroup_warps) - 1; }
};

class Warpgroup {
public:
  /// Records that the warp executes its next wgmma instruction. Traps unless the other warps execute the same one.
  WarpgroupStep &arrive(Warp &warp, const Instruction &in);
  /// Removes the oldest steps that all warps have executed.
  void retire();
  /// Traps if the warp exits but other warps of the group have executed another wgmma instruction.
  void check_exit(Warp &warp) const;
  /// Names the warps that have not executed the oldest step. Empty if no step is incomplete.
  std::string missing(uint32_t first_warp) const;
  const Instruction *oldest() const { return steps.empty() ? nullptr : steps.front().instruction; }

private:
  std::deque<WarpgroupStep> steps;
  uint64_t retired = 0;                             // steps before steps.front()
  std::array<uint64_t, warpgroup_warps> executed{}; // steps, by warp
};

} // namespace ptxsim
