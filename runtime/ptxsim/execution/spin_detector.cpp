#include "execution/spin_detector.h"

#include "execution/machine.h"

#include <algorithm>
#include <cstring>

namespace ptxsim {

WarpState::WarpState(const Warp &warp)
    : live(warp.live), carry(warp.carry), cluster_arrived(warp.cluster_arrived), fragments(warp.fragments),
      storage(warp.storage()) {}

/// True if the fragment has executed instructions since the anchor, or still waits.
static bool has_run(const Warp &warp, const Fragment &before, const Fragment &now, uint64_t anchor_progress) {
  switch (now.state) {
  case Fragment::State::Runnable:
    return now.backward_jumps != before.backward_jumps;
  case Fragment::State::Waiting:
    return !warp.can_run(now) || now.waiting_since > anchor_progress;
  default:
    return !warp.can_run(now);
  }
}

static bool same_position(const Fragment &a, const Fragment &b) {
  return a.pc == b.pc && a.mask == b.mask && a.state == b.state && !a.ticket == !b.ticket && a.stack == b.stack;
}

bool WarpState::equals(const Warp &warp, const LoopSlice &slice) const {
  return live == warp.live && carry == warp.carry && cluster_arrived == warp.cluster_arrived &&
         warp.equals(storage, slice);
}

static bool same_fragments(const WarpState &anchor, const Warp &warp, uint64_t anchor_progress) {
  if (anchor.fragments.size() != warp.fragments.size())
    return false;
  if (!warp.live)
    return true;
  // The order of the fragments does not matter.
  return std::all_of(warp.fragments.begin(), warp.fragments.end(), [&](const Fragment &now) {
    return std::any_of(anchor.fragments.begin(), anchor.fragments.end(), [&](const Fragment &before) {
      return same_position(before, now) && has_run(warp, before, now, anchor_progress);
    });
  });
}

void SpinDetector::record(const Warp &warp, uint32_t pc, uint8_t execution) {
  History &history = histories[&warp.cluster];
  if (history.executions.empty())
    history.executions.resize(warp.machine.program.code.size());
  if (history.executions[pc] & execution)
    return;
  history.executions[pc] |= execution;
  history.slice.reset();
}

static uint64_t byte_hash(const uint8_t *address, uint8_t value) {
  uint64_t hash = (reinterpret_cast<uint64_t>(address) << 8 | value) * 0x9E37'79B9'7F4A'7C15u;
  hash = (hash ^ hash >> 32) * 0xD6E8'FEB8'6659'FD93u;
  return hash ^ hash >> 32;
}

void SpinDetector::record_store(const Cluster &cluster, const uint8_t *byte, uint8_t value) {
  histories[&cluster].shared_now += byte_hash(byte, value) - byte_hash(byte, *byte);
}

SpinDetector::Numbers SpinDetector::barrier_state(const Cluster &cluster) {
  Numbers numbers{cluster.barrier.arrived};
  for (const auto &cta : cluster.ctas) {
    for (const NamedBarrier &barrier : cta->barriers)
      numbers.insert(numbers.end(), {barrier.arrived, barrier.population, barrier.reduced});
    for (const auto &[offset, mbarrier] : cta->mbarriers)
      numbers.insert(numbers.end(), {mbarrier.phase & 1, uint64_t(mbarrier.expected), uint64_t(mbarrier.pending),
                                     uint64_t(mbarrier.transactions)});
  }
  return numbers;
}

bool SpinDetector::equals_anchor(const Cluster &cluster, History &history) const {
  size_t index = 0;
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps)
      if (!same_fragments(history.warps[index++], *warp, history.progress))
        return false;
  if (history.shared != history.shared_now || history.barriers != barrier_state(cluster))
    return false;
  if (!history.slice)
    history.slice.emplace(cluster.machine.program, history.executions);
  if (history.slice->depends_on_time)
    return false;
  index = 0;
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps)
      if (!history.warps[index++].equals(*warp, *history.slice))
        return false;
  return true;
}

void SpinDetector::set_anchor(const Cluster &cluster, History &history) {
  history.changes = cluster.machine.changes;
  history.progress = cluster.progress;
  history.shared = history.shared_now;
  history.barriers = barrier_state(cluster);
  history.warps.clear();
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps)
      history.warps.emplace_back(*warp);
  history.executions.assign(cluster.machine.program.code.size(), 0);
  history.slice.reset();
}

bool SpinDetector::repeats(const Cluster &cluster) {
  History &history = histories[&cluster];
  if (!cluster.async.empty()) {
    history.limit = 0;
    return false;
  }
  const bool current = history.limit && history.changes == cluster.machine.changes;
  if (current && equals_anchor(cluster, history))
    return true;
  if (current && ++history.compared < history.limit)
    return false;
  history.limit = current ? 2 * history.limit : 2;
  history.compared = 0;
  set_anchor(cluster, history);
  return false;
}

void SpinDetector::stop() {
  active = false;
  histories.clear();
}

} // namespace ptxsim
