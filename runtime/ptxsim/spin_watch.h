// Finds threads that can only repeat themselves: a warp that comes back to the same registers at the same instruction,
// with memory unchanged in between, repeats itself for ever.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace ptxsim {

class Cluster;
class Warp;

class SpinWatch {
public:
  bool active = false;

  /// A warp has jumped backwards: compares its state with an earlier one.
  void jumped_back(Warp &warp);
  /// Every thread of the cluster waits, or is proven to repeat itself.
  bool is_stuck(const Cluster &cluster) const;
  void stop();

private:
  struct Seen {
    uint64_t state = 0;    // of the anchor, an earlier state
    uint64_t changes = 0;  // of memory, at the anchor
    uint64_t progress = 0; // of the cluster, at the anchor
    uint32_t compared = 0; // states since the anchor
    uint32_t limit = 0;    // of `compared`, doubled with each new anchor
    uint64_t next_step = 0;
    bool repeats = false;
    std::unordered_map<uint32_t, uint32_t> back_jumps; // of the fragments at the anchor, by lanes
  };
  bool is_current(const Warp &warp, const Seen &seen) const;
  std::unordered_map<const Warp *, Seen> warps;
};

} // namespace ptxsim
