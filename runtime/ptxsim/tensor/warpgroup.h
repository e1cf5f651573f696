// A warpgroup: four consecutive warps that execute the wgmma instructions together (PTX ISA 9.7.15).
#pragma once

#include "clocks.h"
#include "program.h"

#include <array>
#include <deque>
#include <memory>
#include <string>

namespace ptxsim {

class Warp;
struct WarpgroupMma; // tensor/wgmma_opcodes.cpp

inline constexpr uint32_t warpgroup_warps = 4;

/// One wgmma instruction that some warps of the group have executed, and others may still have to.
struct WarpgroupStep {
  const Instruction *instruction = nullptr;
  uint32_t arrived = 0;              // warps, as a mask
  VectorClock happened;              // known to all warps that have arrived
  VectorClock proxied;               // the same of the async proxy
  std::shared_ptr<WarpgroupMma> mma; // of wgmma.mma_async

  bool complete() const { return arrived == (1u << warpgroup_warps) - 1; }
};

class Warpgroup {
public:
  /// Records that the warp executes its next wgmma instruction. Traps unless the other warps execute the same one.
  WarpgroupStep &arrive(Warp &warp, const Instruction &in);
  /// Forgets the leading steps that all warps have executed.
  void retire();
  /// Traps if the warp exits although others of the group have executed a wgmma instruction more.
  void check_exit(Warp &warp) const;
  /// Which warps have not executed the oldest unfinished step; empty if there is none.
  std::string missing(uint32_t first_warp) const;
  const Instruction *oldest() const { return steps.empty() ? nullptr : steps.front().instruction; }

private:
  std::deque<WarpgroupStep> steps;
  uint64_t retired = 0;                             // steps before steps.front()
  std::array<uint64_t, warpgroup_warps> executed{}; // steps, by warp
};

} // namespace ptxsim
