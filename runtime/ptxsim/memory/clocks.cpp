#include "memory/clocks.h"

namespace ptxsim {

Knowledge WarpClock::release() {
  Knowledge published = known;
  advance();
  return published;
}

void WarpClock::fence_proxy_async(uint32_t lanes) {
  if (unsynchronised_writers & ~lanes) {
    VectorClock others = known.happened;
    others.lower(agent, known.proxied[agent]);
    known.proxied.join(others);
  } else {
    known.proxied.join(known.happened);
    unsynchronised_writers = 0;
  }
  advance();
}

void WarpClock::fence() {
  known.join(awaiting_fence);
  released_by_fence = known;
  advance();
}

} // namespace ptxsim
