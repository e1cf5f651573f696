// Tensor maps that the program itself writes: the tensormap proxy sees them only after a fence (PTX ISA, "Proxy").
#pragma once

#include "clocks.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ptxsim {

class Cluster;

class TensorMapProxy {
public:
  /// The program wrote the map at this global address.
  void write(uint64_t address, uint32_t line) { writes[address] = {line, {}}; }

  /// A warp executes fence.proxy.tensormap::generic.acquire in this epoch.
  void acquire(uint64_t address, const Cluster *cluster, Agent warp, Epoch epoch) {
    if (auto found = writes.find(address); found != writes.end())
      found->second.acquires.push_back({cluster, warp, epoch});
  }

  /// An error message if a warp that knows `happened` may not use the map yet, or an empty string.
  std::string missing_fence(uint64_t address, const Cluster *cluster, const VectorClock &happened) const {
    const auto found = writes.find(address);
    if (found == writes.end())
      return "";
    for (const Acquire &acquire : found->second.acquires)
      if (acquire.cluster == cluster && happened[acquire.warp] >= acquire.epoch)
        return "";
    return "expected fence.proxy.tensormap::generic.acquire before the use of a tensor map that line " +
           std::to_string(found->second.line) + " wrote";
  }

private:
  struct Acquire {
    const Cluster *cluster;
    Agent warp;
    Epoch epoch;
  };
  struct Write {
    uint32_t line;
    std::vector<Acquire> acquires;
  };
  std::map<uint64_t, Write> writes;
};

} // namespace ptxsim
