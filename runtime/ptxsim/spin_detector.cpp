#include "spin_detector.h"

#include "machine.h"

#include <algorithm>

namespace ptxsim {

// Between two hashes of a warp, the run executes at least one instruction per this many bytes of the state, so that
// hashing remains a small part of the run time.
constexpr uint64_t bytes_hashed_per_step = 64;

bool SpinDetector::is_current(const Warp &warp, const History &history) const {
  return history.changes == warp.machine.changes && history.progress == warp.cluster.progress;
}

/// True if each fragment that can run has jumped backwards since the anchor: one that has not run may change memory.
static bool all_have_run(const Warp &warp, const std::unordered_map<uint32_t, uint32_t> &backward_jumps) {
  return std::all_of(warp.fragments.begin(), warp.fragments.end(), [&](const Fragment &fragment) {
    auto earlier = backward_jumps.find(fragment.mask);
    return earlier != backward_jumps.end() && (!warp.can_run(fragment) || fragment.backward_jumps > earlier->second);
  });
}

void SpinDetector::record_backward_jump(Warp &warp) {
  History &history = warps[&warp];
  if (history.repeats && is_current(warp, history))
    return;
  const uint64_t step = warp.machine.steps;
  if (step < history.next_step)
    return;
  history.next_step = step + warp.state_bytes() / bytes_hashed_per_step;
  const uint64_t state = warp.state_hash();
  const bool current = history.limit && is_current(warp, history);
  if (current && state == history.state && all_have_run(warp, history.backward_jumps)) {
    history.repeats = true;
    return;
  }
  if (current && ++history.compared < history.limit)
    return;
  history.repeats = false;
  history.limit = current ? 2 * history.limit : 2;
  history.compared = 0;
  history.state = state;
  history.changes = warp.machine.changes;
  history.progress = warp.cluster.progress;
  history.backward_jumps.clear();
  for (const Fragment &fragment : warp.fragments)
    history.backward_jumps[fragment.mask] = fragment.backward_jumps;
}

bool SpinDetector::is_stuck(const Cluster &cluster) const {
  if (!cluster.async.empty())
    return false;
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps) {
      if (!warp->runnable())
        continue;
      auto history = warps.find(warp.get());
      if (history == warps.end() || !history->second.repeats || !is_current(*warp, history->second))
        return false;
    }
  return true;
}

void SpinDetector::stop() {
  active = false;
  warps.clear();
}

} // namespace ptxsim
