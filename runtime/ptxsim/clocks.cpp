#include "clocks.h"

namespace ptxsim {

Knowledge WarpClock::release() {
  Knowledge published = known;
  advance();
  return published;
}

void WarpClock::fence_proxy_async() {
  known.proxied.join(known.happened);
  advance();
}

void WarpClock::fence() {
  known.join(awaiting_fence);
  released_by_fence = known;
  advance();
}

} // namespace ptxsim
