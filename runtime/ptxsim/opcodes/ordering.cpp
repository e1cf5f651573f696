#include "opcodes/ordering.h"

namespace ptxsim {

int32_t take_ordering(Decoder &decoder, Ordering default_ordering) {
  Ordering result = default_ordering;
  if (decoder.take("volatile") || decoder.take("mmio"))
    result = Ordering::Volatile;
  else if (decoder.take("acq_rel"))
    result = Ordering::AcquireRelease;
  else if (decoder.take("acquire"))
    result = Ordering::Acquire;
  else if (decoder.take("release"))
    result = Ordering::Release;
  else if (decoder.take("weak"))
    result = Ordering::Weak;
  if (decoder.take("relaxed"))
    result = Ordering::Relaxed;
  decoder.take_one_of({"cta", "cluster", "gpu", "sys"});
  return int32_t(result);
}

bool is_strong(int32_t ordering) { return Ordering(ordering) != Ordering::Weak; }
bool is_acquire(int32_t ordering) { return is_strong(ordering) && Ordering(ordering) != Ordering::Release; }
bool is_release(int32_t ordering) { return is_strong(ordering) && Ordering(ordering) != Ordering::Acquire; }

/// The generic address, which is the same for all state spaces in which the memory can be addressed.
static uint64_t generic_address(Space space, uint64_t address) {
  bool shared = space == Space::SharedCta || space == Space::SharedCluster;
  return shared ? address | shared_window : address;
}

void acquire_from(Warp &warp, Space space, uint64_t address, int32_t ordering) {
  auto found = warp.cluster.released_at.find(generic_address(space, address));
  if (found == warp.cluster.released_at.end())
    return;
  Ordering order = Ordering(ordering);
  if (order == Ordering::Acquire || order == Ordering::AcquireRelease)
    warp.clock.acquire(found->second);
  else
    warp.clock.observe_relaxed(found->second);
}

void release_to(Warp &warp, Space space, uint64_t address, int32_t ordering) {
  Ordering order = Ordering(ordering);
  Knowledge &location = warp.cluster.released_at[generic_address(space, address)];
  if (order == Ordering::Release || order == Ordering::AcquireRelease)
    location.join(warp.clock.release());
  else
    location.join(warp.clock.fence_released());
}

} // namespace ptxsim
