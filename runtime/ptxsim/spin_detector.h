// Detects threads that spin forever: a warp that returns to the same instruction with the same registers, while memory
// is unchanged, can only repeat itself.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace ptxsim {

class Cluster;
class Warp;

class SpinDetector {
public:
  bool active = false;

  /// Compares the state of a warp that jumps backwards with an earlier state.
  void record_backward_jump(Warp &warp);
  /// True if every thread of the cluster waits or repeats itself.
  bool is_stuck(const Cluster &cluster) const;
  void stop();

private:
  struct History {
    uint64_t state = 0;    // hash of the anchor, an earlier state
    uint64_t changes = 0;  // of memory, at the anchor
    uint64_t progress = 0; // of the cluster, at the anchor
    uint32_t compared = 0; // number of states compared with the anchor
    uint32_t limit = 0;    // of `compared`; doubled for each new anchor
    uint64_t next_step = 0;
    bool repeats = false;
    std::unordered_map<uint32_t, uint32_t> backward_jumps; // of the fragments at the anchor, by lanes
  };
  bool is_current(const Warp &warp, const History &history) const;
  std::unordered_map<const Warp *, History> warps;
};

} // namespace ptxsim
