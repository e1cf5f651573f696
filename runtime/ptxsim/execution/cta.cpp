#include "execution/machine.h"

#include "tensor/tcgen05/tensor_memory.h"

#include <algorithm>
#include <utility>

namespace ptxsim {

void NamedBarrier::finish() {
  ++generation;
  arrived = expected = 0;
  expects_all = false;
  complete = std::move(gathering);
  gathering = Knowledge();
  reduced = population;
  population = 0;
}

Cta::Cta(Machine &machine, Cluster &cluster, std::array<uint32_t, 3> index, uint32_t rank)
    : machine(machine), cluster(cluster), index(index), rank(rank), shared(machine.shared_bytes()),
      shadow(machine.shared_bytes() / 16 + 1), tensor_memory(std::make_unique<TensorMemory>()),
      holds_mbarrier(machine.shared_bytes() / 16 + 1) {
  uint32_t threads = thread_count();
  warpgroups.resize(threads / (warpgroup_warps * lane_count));
  warps.reserve((threads + lane_count - 1) / lane_count);
  // The initial content of shared memory is undefined; the pattern makes reads of it visible.
  std::fill(shared.begin(), shared.end(), uint8_t(0xCB));
  for (uint32_t first = 0; first < threads; first += lane_count) {
    uint32_t lanes = std::min(lane_count, threads - first);
    uint32_t live = lanes == lane_count ? ~0u : (1u << lanes) - 1;
    warps.push_back(std::make_unique<Warp>(machine, cluster, *this, first / lane_count, live));
  }
}

Cta::~Cta() = default;

uint32_t Cta::thread_count() const {
  const auto &block = machine.options.block;
  return block[0] * block[1] * block[2];
}

uint32_t Cta::live_threads() const {
  uint32_t count = 0;
  for (const auto &warp : warps)
    count += uint32_t(__builtin_popcount(warp->live));
  return count;
}

bool Cta::finished() const {
  return std::all_of(warps.begin(), warps.end(), [](const auto &warp) { return warp->finished(); });
}

void Cta::handle_exit(Warp &warp) {
  uint32_t left = live_threads();
  for (NamedBarrier &barrier : barriers)
    if (barrier.expects_all && barrier.arrived >= left && left) {
      barrier.finish();
      ++cluster.progress;
    }
  cluster.handle_exit();
  if (left || !machine.options.checks)
    return;
  if (std::string leak = tensor_memory->leak(); !leak.empty())
    warp.trap(trap_kind::tensor_memory, leak);
}

Mbarrier &Cta::mbarrier(Warp &warp, uint64_t offset, uint32_t lane) {
  auto found = mbarriers.find(uint32_t(offset));
  if (found == mbarriers.end())
    warp.trap_lane(lane, trap_kind::mbarrier,
                   "'" + warp.instruction().text + "' needs an mbarrier, but none is initialised at shared offset " +
                       std::to_string(offset) + " of CTA rank " + std::to_string(rank));
  return found->second;
}

} // namespace ptxsim
