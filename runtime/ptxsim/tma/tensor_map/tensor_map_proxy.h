// Tensor maps that the program itself writes: the tensormap proxy sees them only after a fence (PTX ISA, "Proxy").
#pragma once

#include "memory/clocks.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ptxsim {

class Cluster;

class TensorMapProxy {
public:
  /// An instruction of a warp of a cluster, in an epoch of the warp.
  struct Event {
    const Cluster *cluster = nullptr;
    Agent warp = 0;
    Epoch epoch = 0;

    bool precedes(const Cluster *other, const VectorClock &happened) const {
      return cluster == other && happened[warp] >= epoch;
    }
  };

  /// A warp wrote the map at this global address in this epoch, in generic memory.
  void write(uint64_t address, uint32_t line, Event writer) { writes[address] = {line, writer, false, {}}; }

  /// tensormap.cp_fenceproxy wrote the map, which includes the release.
  void write_and_release(uint64_t address, uint32_t line) { writes[address] = {line, {}, true, {}}; }

  /// A warp that knows `happened` executes fence.proxy.tensormap::generic.release.
  void release(const Cluster *cluster, const VectorClock &happened) {
    for (auto &[address, write] : writes)
      write.released |= write.writer.precedes(cluster, happened);
  }

  /// A warp executes fence.proxy.tensormap::generic.acquire.
  void acquire(uint64_t address, Event warp) {
    if (auto found = writes.find(address); found != writes.end() && found->second.released)
      found->second.acquires.push_back(warp);
  }

  /// An error message if a warp that knows `happened` may not use the map yet, or an empty string.
  std::string missing_fence(uint64_t address, const Cluster *cluster, const VectorClock &happened) const {
    const auto found = writes.find(address);
    if (found == writes.end())
      return "";
    const Write &write = found->second;
    for (const Event &acquire : write.acquires)
      if (acquire.precedes(cluster, happened))
        return "";
    return std::string("expected fence.proxy.tensormap::generic.") + (write.released ? "acquire" : "release") +
           " before the use of a tensor map that line " + std::to_string(write.line) + " wrote";
  }

private:
  struct Write {
    uint32_t line;
    Event writer;
    bool released;
    std::vector<Event> acquires;
  };
  std::map<uint64_t, Write> writes;
};

} // namespace ptxsim
