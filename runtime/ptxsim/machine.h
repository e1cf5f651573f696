// A launch: the grid, its clusters and CTAs, the scheduler, and what is counted.
#pragma once

#include "async.h"
#include "mbarrier.h"
#include "memory.h"
#include "program.h"
#include "shadow.h"
#include "warp.h"

#include <array>
#include <map>
#include <memory>
#include <random>
#include <unordered_map>

namespace ptxsim {

class TensorMemory; // tensor/tensor_memory.h

struct LaunchOptions {
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint32_t, 3> block{1, 1, 1};
  std::array<uint32_t, 3> cluster{1, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
  std::vector<uint8_t> parameters;
  std::vector<Range> ranges;
  uint64_t seed = 0;
  bool checks = true;             // races, initialisation, protocol
  bool allow_unconfirmed = false; // behaviour that NVIDIA does not document
  bool unchecked_global = false;
  uint64_t step_limit = 0;        // warp instructions; 0: none
};

/// Counted over a launch; names are those the Python side shows.
struct Counters {
  std::map<std::string, uint64_t> values;
  uint64_t &operator[](const std::string &name) { return values[name]; }
};

/// bar.sync and barrier.cta: one of 16 in a CTA, or the barrier of a cluster.
struct NamedBarrier {
  uint64_t generation = 0;
  uint32_t arrived = 0;  // threads
  uint32_t expected = 0; // threads; 0 before the first arrival of a generation
  uint32_t line = 0;
  Knowledge gathering;
  Knowledge complete;
  uint32_t reduction = 0; // of bar.red
  uint32_t reduced = 0;
};

class Cta {
public:
  Cta(Machine &machine, Cluster &cluster, std::array<uint32_t, 3> index, uint32_t rank);
  ~Cta();

  Machine &machine;
  Cluster &cluster;
  const std::array<uint32_t, 3> index; // %ctaid
  const uint32_t rank;                 // %cluster_ctarank
  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<uint8_t> shared; // from offset 0; the first shared_base bytes belong to the system
  Shadow shadow;               // of `shared`
  std::unique_ptr<TensorMemory> tensor_memory;
  std::array<NamedBarrier, 16> barriers;
  std::map<uint32_t, Mbarrier> mbarriers; // by offset

  bool finished() const;
  /// The object at this offset; Trap of the warp if there is none or the offset is not of 8 bytes.
  Mbarrier &mbarrier(Warp &warp, uint64_t offset, uint32_t lane = 0);
  uint32_t thread_count() const;
};

class Cluster {
public:
  Cluster(Machine &machine, std::array<uint32_t, 3> index);

  Machine &machine;
  const std::array<uint32_t, 3> index; // %clusterid
  std::vector<std::unique_ptr<Cta>> ctas; // by rank
  AsyncEngine async;
  NamedBarrier barrier;
  uint64_t progress = 1; // raised by whatever may let a waiting fragment go on
  std::vector<std::string> agent_names;
  std::map<uint64_t, Knowledge> released_at; // by address: what releases to it published

  Agent new_agent(std::string name);
  Cta *cta_of(uint64_t shared_address); // nullptr if the rank is none of this cluster
  AsyncQueue &queue(QueueKind kind, Warp &warp, uint32_t discriminator);
  bool finished() const;

private:
  std::map<std::array<uint32_t, 4>, std::unique_ptr<AsyncQueue>> queues;
};

class Machine {
public:
  Machine(Program &program, const Function &entry, LaunchOptions options);
  ~Machine();

  /// Runs the whole grid. Throws Trap.
  Counters run();

  Program &program;
  const Function &entry;
  const LaunchOptions options;
  GlobalMemory global;
  std::mt19937_64 random;
  Counters counters;
  std::vector<uint64_t> parameter_storage; // the entry's parameters, 64-byte aligned within
  uint8_t *parameters = nullptr;
  uint64_t steps = 0;

  uint32_t shared_bytes() const; // static and dynamic, with the system's part
  uint32_t dynamic_shared_offset() const;
  [[noreturn]] void trap(const Origin &origin, const char *kind, const std::string &message,
                         std::vector<std::string> notes = {});
  std::vector<uint64_t> opcode_counts; // warp instructions, by row
  std::vector<uint64_t> lane_counts;   // thread instructions, by row

private:
  void launch_cluster();
  void run_slice();
  bool anything_runnable();
  bool wake_polls();
  [[noreturn]] void deadlock();

  std::vector<std::unique_ptr<Cluster>> resident;
  uint64_t next_cluster = 0;
  uint64_t cluster_count = 0;
};

} // namespace ptxsim
