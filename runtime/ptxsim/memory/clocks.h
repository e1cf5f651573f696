// Vector clocks: the accesses that each agent knows to have happened, independent of the schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ptxsim {

/// One line of execution within a cluster: a warp, an mbarrier, or an asynchronous queue. Numbered from 0.
using Agent = uint32_t;

/// A point in the execution of an agent: the release count of a warp, the number of completed phases of an mbarrier,
/// the position in a queue.
using Epoch = uint32_t;

class VectorClock {
public:
  Epoch operator[](Agent agent) const { return agent < epochs.size() ? epochs[agent] : 0; }
  void raise(Agent agent, Epoch epoch) {
    if (agent >= epochs.size())
      epochs.resize(agent + 1, 0);
    if (epochs[agent] < epoch)
      epochs[agent] = epoch;
  }
  void lower(Agent agent, Epoch epoch) {
    if (agent < epochs.size())
      epochs[agent] = epoch;
  }
  void join(const VectorClock &other) {
    if (epochs.size() < other.epochs.size())
      epochs.resize(other.epochs.size(), 0);
    for (size_t agent = 0; agent < other.epochs.size(); ++agent)
      if (epochs[agent] < other.epochs[agent])
        epochs[agent] = other.epochs[agent];
  }

  /// The minimum of both clocks, agent by agent.
  void intersect(const VectorClock &other) {
    if (epochs.size() > other.epochs.size())
      epochs.resize(other.epochs.size());
    for (size_t agent = 0; agent < epochs.size(); ++agent)
      if (other.epochs[agent] < epochs[agent])
        epochs[agent] = other.epochs[agent];
  }

private:
  std::vector<Epoch> epochs;
};

/// The ordering that a synchronisation transfers from its release to its acquire.
struct Knowledge {
  VectorClock happened; // accesses ordered before
  VectorClock proxied;  // generic writes that a fence.proxy.async has made visible to the async proxy
  VectorClock tensor;   // tcgen05 operations published by tcgen05.fence::before_thread_sync or a commit

  void join(const Knowledge &other) {
    happened.join(other.happened);
    proxied.join(other.proxied);
    tensor.join(other.tensor);
  }
};

/// The clocks of one warp. Lanes of a warp count as ordered.
class WarpClock {
public:
  explicit WarpClock(Agent agent) : agent(agent) { known.happened.raise(agent, 1); }

  Epoch now() const { return known.happened[agent]; }

  /// Orders later accesses of this warp after the issue of an asynchronous operation.
  void begin_epoch() { advance(); }

  /// The knowledge that a release publishes. Later accesses of this warp are not part of it.
  Knowledge release();
  void acquire(const Knowledge &knowledge) {
    known.join(knowledge);
    unsynchronised_writers = 0;
  }

  /// A relaxed wait: tcgen05 operations become known to a later fence::after_thread_sync; no other access does.
  void acquire_relaxed(const Knowledge &knowledge) { known.tensor.join(knowledge.tensor); }

  /// Records lanes that write shared memory. A fence by other lanes covers these writes only after synchronise_lanes().
  void wrote_shared(uint32_t lanes) { unsynchronised_writers |= lanes; }
  void synchronise_lanes() { unsynchronised_writers = 0; }

  /// fence.proxy.async by some lanes: all known generic writes become visible to the async proxy, those of the warp
  /// only if no other lane has contributed to them.
  void fence_proxy_async(uint32_t lanes);

  /// tcgen05.fence::before_thread_sync and ::after_thread_sync.
  void tensor_fence_before() { known.tensor.join(tensor_ordered); }
  void tensor_fence_after() { tensor_ordered.join(known.tensor); }

  /// fence.acq_rel/sc and its pairing with relaxed accesses (PTX ISA 8.8, release and acquire patterns).
  void fence();
  const Knowledge &fence_released() const { return released_by_fence; }
  void observe_relaxed(const Knowledge &knowledge) { awaiting_fence.join(knowledge); }

  Agent agent;
  Knowledge known;            // .tensor: published to this warp, not ordered before its tcgen05 operations yet
  VectorClock tensor_ordered; // tcgen05 operations ordered before this warp's next one

private:
  uint32_t unsynchronised_writers = 0;
  void advance() { known.happened.raise(agent, now() + 1); }
  Knowledge released_by_fence;
  Knowledge awaiting_fence;
};

} // namespace ptxsim
