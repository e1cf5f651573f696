#include "spin_watch.h"

#include "machine.h"

#include <algorithm>

namespace ptxsim {

// A state takes as long to hash as about this many instructions take to run, for each 64 bytes of registers, times ten.
constexpr uint64_t bytes_hashed_per_step = 64;

bool SpinWatch::is_current(const Warp &warp, const Seen &seen) const {
  return seen.changes == warp.machine.changes && seen.progress == warp.cluster.progress;
}

/// Each fragment that can run must have jumped back since the anchor: one that has not run yet may change memory.
static bool all_have_run(const Warp &warp, const std::unordered_map<uint32_t, uint32_t> &back_jumps) {
  return std::all_of(warp.fragments.begin(), warp.fragments.end(), [&](const Fragment &fragment) {
    auto earlier = back_jumps.find(fragment.mask);
    return earlier != back_jumps.end() && (!warp.can_run(fragment) || fragment.back_jumps > earlier->second);
  });
}

void SpinWatch::jumped_back(Warp &warp) {
  Seen &seen = warps[&warp];
  if (seen.repeats && is_current(warp, seen))
    return;
  const uint64_t step = warp.machine.steps;
  if (step < seen.next_step)
    return;
  seen.next_step = step + warp.state_bytes() / bytes_hashed_per_step;
  const uint64_t state = warp.state_hash();
  const bool current = seen.limit && is_current(warp, seen);
  if (current && state == seen.state && all_have_run(warp, seen.back_jumps)) {
    seen.repeats = true;
    return;
  }
  if (current && ++seen.compared < seen.limit)
    return;
  seen.repeats = false;
  seen.limit = current ? 2 * seen.limit : 2;
  seen.compared = 0;
  seen.state = state;
  seen.changes = warp.machine.changes;
  seen.progress = warp.cluster.progress;
  seen.back_jumps.clear();
  for (const Fragment &fragment : warp.fragments)
    seen.back_jumps[fragment.mask] = fragment.back_jumps;
}

bool SpinWatch::is_stuck(const Cluster &cluster) const {
  if (!cluster.async.empty())
    return false;
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps) {
      if (!warp->runnable())
        continue;
      auto seen = warps.find(warp.get());
      if (seen == warps.end() || !seen->second.repeats || !is_current(*warp, seen->second))
        return false;
    }
  return true;
}

void SpinWatch::stop() {
  active = false;
  warps.clear();
}

} // namespace ptxsim
