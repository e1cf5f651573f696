#include "execution/machine.h"

#include <algorithm>
#include <utility>

namespace ptxsim {

Cluster::Cluster(Machine &machine, std::array<uint32_t, 3> index) : machine(machine), index(index) {
  const auto &size = machine.options.cluster;
  uint32_t rank = 0;
  for (uint32_t z = 0; z < size[2]; ++z)
    for (uint32_t y = 0; y < size[1]; ++y)
      for (uint32_t x = 0; x < size[0]; ++x, ++rank)
        ctas.push_back(std::make_unique<Cta>(
            machine, *this,
            std::array<uint32_t, 3>{index[0] * size[0] + x, index[1] * size[1] + y, index[2] * size[2] + z}, rank));
}

Agent Cluster::new_agent(std::string name) {
  agent_names.push_back(std::move(name));
  return Agent(agent_names.size() - 1);
}

Cta *Cluster::cta_of(uint64_t shared_address) {
  uint64_t rank = shared_address >> cta_rank_shift;
  return rank < ctas.size() ? ctas[rank].get() : nullptr;
}

static std::array<uint32_t, 4> queue_key(QueueKind kind, const Warp &warp, uint32_t discriminator) {
  return {uint32_t(kind), warp.cta.rank, warp.index, discriminator};
}

static const char *queue_name(QueueKind kind) {
  switch (kind) {
  case QueueKind::TensorCore:
    return "tcgen05.mma/cp/shift";
  case QueueKind::TensorLoad:
    return "tcgen05.ld";
  case QueueKind::TensorStore:
    return "tcgen05.st";
  case QueueKind::WarpgroupMma:
    return "wgmma";
  case QueueKind::Warpgroup:
    return "wgmma of the warpgroup";
  case QueueKind::BulkGroup:
    return "bulk stores";
  default:
    return "cp.async";
  }
}

AsyncQueue *Cluster::find_queue(QueueKind kind, Warp &warp, uint32_t discriminator) {
  auto found = queues.find(queue_key(kind, warp, discriminator));
  return found == queues.end() ? nullptr : found->second.get();
}

AsyncQueue &Cluster::queue(QueueKind kind, Warp &warp, uint32_t discriminator) {
  std::unique_ptr<AsyncQueue> &queue = queues[queue_key(kind, warp, discriminator)];
  if (!queue) {
    queue = std::make_unique<AsyncQueue>();
    queue->agent = new_agent(std::string(queue_name(kind)) + " of " + agent_names[warp.clock.agent]);
  }
  return *queue;
}

bool Cluster::finished() const {
  return std::all_of(ctas.begin(), ctas.end(), [](const auto &cta) { return cta->finished(); });
}

void Cluster::handle_exit() {
  uint32_t left = 0;
  for (const auto &cta : ctas)
    left += cta->live_threads();
  if (left && barrier.arrived && barrier.arrived >= left) {
    barrier.finish();
    ++progress;
  }
}

void Cluster::check_finished() {
  for (const auto &cta : ctas)
    for (const auto &[offset, mbarrier] : cta->mbarriers)
      if (mbarrier.observed_phases < mbarrier.latest_copy)
        machine.trap(
            {&machine.program.code[mbarrier.copy_instruction], cta->warps[0].get(), 0}, trap_kind::exit_pending,
            "the copy of phase " + std::to_string(mbarrier.latest_copy - 1) +
                " into shared memory was never waited for: all threads exit without a successful wait on its mbarrier");
}

} // namespace ptxsim
