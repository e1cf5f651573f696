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
  void write(uint64_t address, uint32_t line) { written[address] = {line, {}}; }

  /// fence.proxy.tensormap::generic.acquire by a warp at this moment.
  void acquire(uint64_t address, const Cluster *cluster, Agent warp, Epoch epoch) {
    if (auto found = written.find(address); found != written.end())
      found->second.acquired.push_back({cluster, warp, epoch});
  }

  /// The synchronisation that is missing before a warp that knows `happened` may use the map; empty if none.
  std::string stale(uint64_t address, const Cluster *cluster, const VectorClock &happened) const {
    const auto found = written.find(address);
    if (found == written.end())
      return "";
    for (const Acquired &moment : found->second.acquired)
      if (moment.cluster == cluster && happened[moment.warp] >= moment.epoch)
        return "";
    return "expected fence.proxy.tensormap::generic.acquire before the use of a tensor map that line " +
           std::to_string(found->second.line) + " wrote";
  }

private:
  struct Acquired {
    const Cluster *cluster;
    Agent warp;
    Epoch epoch;
  };
  struct Written {
    uint32_t line;
    std::vector<Acquired> acquired;
  };
  std::map<uint64_t, Written> written;
};

} // namespace ptxsim
