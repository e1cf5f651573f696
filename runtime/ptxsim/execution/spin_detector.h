// Detects clusters that spin forever: while no other memory changes, a cluster that returns to the same state of its
// warps, barriers and shared memory can only repeat itself.
#pragma once

#include "execution/loop_slice.h"
#include "execution/warp.h"

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace ptxsim {

/// The state of a warp at some instruction.
struct WarpState {
  explicit WarpState(const Warp &warp);
  /// True if the warp is in the same state, as far as the instructions of the slice depend on it.
  bool equals(const Warp &warp, const LoopSlice &slice) const;

  uint32_t live, carry, cluster_arrived;
  std::vector<Fragment> fragments;
  Warp::Storage storage;
};

class SpinDetector {
public:
  bool active = false; // clusters run in rounds, and record what they execute

  /// A lane group of the warp executes the instruction, or skips it because of its guard.
  void record(const Warp &warp, uint32_t pc, uint8_t execution);
  /// A weak store changes a byte of shared memory.
  void record_store(const Cluster &cluster, const uint8_t *byte, uint8_t value);
  /// Compares the state after a round with an earlier one. Returns true if the cluster repeats itself.
  bool repeats(const Cluster &cluster);
  void stop();

private:
  using Numbers = std::vector<uint64_t>; // the state of barriers
  struct History {
    uint64_t changes = 0;    // of memory, at the anchor, which is an earlier state
    uint64_t progress = 0;   // of the cluster, at the anchor
    uint64_t shared = 0;     // hash of the changes of shared memory since the start, at the anchor
    uint64_t shared_now = 0; // the same now
    uint32_t compared = 0;   // number of states compared with the anchor
    uint32_t limit = 0;      // of `compared`; doubled for each new anchor
    Numbers barriers;
    std::vector<WarpState> warps;
    std::vector<uint8_t> executions; // since the anchor, by instruction
    std::optional<LoopSlice> slice;  // of `executions`
  };
  static Numbers barrier_state(const Cluster &cluster);
  bool equals_anchor(const Cluster &cluster, History &history) const;
  static void set_anchor(const Cluster &cluster, History &history);
  std::unordered_map<const Cluster *, History> histories;
};

} // namespace ptxsim
