// A launch: the grid, its clusters and CTAs, the scheduler and the counters.
#pragma once

#include "async.h"
#include "mbarrier.h"
#include "memory.h"
#include "program.h"
#include "shadow.h"
#include "spin_watch.h"
#include "tensor/warpgroup.h"
#include "tma/tensor_map_proxy.h"
#include "warp.h"

#include <array>
#include <functional>
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
  bool same_value_races = false;                  // two stores of the same value at once are races too
  bool read_fences = true;                        // generic reads need fence.proxy.async before an asynchronous write
  uint64_t step_limit = 0;                        // warp instructions; 0: none
  std::function<void()> poll;                     // called periodically; may throw to stop the run
  std::function<void(const std::string &)> print; // takes the output of vprintf
};

/// Counted over a launch; names are those the Python side shows.
struct Counters {
  std::map<std::string, uint64_t> values;
  uint64_t &operator[](const std::string &name) { return values[name]; }
};

/// Bytes moved by loads and stores of threads.
struct Traffic {
  uint64_t shared_read = 0, shared_written = 0;
  uint64_t global_read = 0, global_written = 0;
  uint64_t barrier_arrivals = 0;
  uint64_t mbarrier_waits = 0; // that succeeded
  uint64_t bank_conflicts = 0; // wavefronts of shared memory beyond one for each 128 bytes
};

/// bar.sync and barrier.cta: one of 16 in a CTA, or the barrier of a cluster.
struct NamedBarrier {
  uint64_t generation = 0;
  uint32_t arrived = 0;  // threads
  uint32_t expected = 0; // threads; 0 before the first arrival of a generation
  bool everyone = false; // expects all threads that have not exited
  uint32_t line = 0;
  Knowledge gathering;
  Knowledge complete;
  uint32_t population = 0; // of bar.red in this generation
  uint32_t reduced = 0;    // of the last one

  void finish();
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
  std::vector<Warpgroup> warpgroups;              // of 128 threads each
  std::map<uint32_t, Mbarrier> mbarriers;         // by offset
  std::map<uint32_t, Mbarrier> retired_mbarriers; // before mbarrier.init and after mbarrier.inval: their agents

  bool finished() const;
  std::vector<bool> holds_mbarrier; // by block of 16 bytes
  uint32_t free_registers = 0;      // per lane of a warp: the pool that setmaxnreg.dec fills and .inc takes from

  /// Threads that exit no longer count in barriers of the whole CTA and cluster.
  void threads_left(Warp &warp);
  uint32_t live_threads() const;
  /// The object at this offset; Trap of the warp if there is none or the offset is not of 8 bytes.
  Mbarrier &mbarrier(Warp &warp, uint64_t offset, uint32_t lane = 0);
  uint32_t thread_count() const;
};

class Cluster {
public:
  Cluster(Machine &machine, std::array<uint32_t, 3> index);

  Machine &machine;
  const std::array<uint32_t, 3> index;    // %clusterid
  std::vector<std::unique_ptr<Cta>> ctas; // by rank
  AsyncEngine async;
  NamedBarrier barrier;
  uint64_t progress = 1; // raised by every event that may let a waiting fragment continue
  std::vector<std::string> agent_names;
  std::map<uint64_t, Knowledge> released_at; // by address: the knowledge that releases to it have published

  Agent new_agent(std::string name);
  Cta *cta_of(uint64_t shared_address); // nullptr if the rank is none of this cluster
  AsyncQueue &queue(QueueKind kind, Warp &warp, uint32_t discriminator);
  AsyncQueue *find_queue(QueueKind kind, Warp &warp, uint32_t discriminator);
  bool finished() const;
  void threads_left();
  /// Traps if tensor memory or copies without a wait are left when all threads have exited.
  void check_finished();

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
  TensorMapProxy tensor_map_proxy;
  std::mt19937_64 random;
  Counters counters;
  Traffic traffic;
  std::vector<uint64_t> parameter_storage; // the entry's parameters, 64-byte aligned within
  uint8_t *parameters = nullptr;
  uint64_t steps = 0;        // warp instructions
  uint64_t latest_write = 0; // the step at which memory last changed
  uint64_t changes = 0;      // of memory, of barriers and of special registers
  SpinWatch spin_watch;

  /// A store, an atomic operation or a barrier has changed state that other threads can see.
  void changed() {
    latest_write = steps;
    ++changes;
  }

  /// Output of vprintf: shown by block, when the run ends.
  void print(const Cta &cta, const std::string &text);

  uint32_t shared_bytes() const; // static and dynamic, with the system's part
  uint32_t dynamic_shared_offset() const;
  [[noreturn]] void trap(const Origin &origin, const char *kind, const std::string &message,
                         std::vector<std::string> notes = {});
  std::vector<uint64_t> opcode_counts; // warp instructions, by row
  std::vector<uint64_t> lane_counts;   // thread instructions, by row

private:
  void prepare_memory();
  void launch_cluster();
  bool run_slice(Cluster &cluster); // false: no warp of it can continue
  bool wake_polls();
  void finish_cluster(size_t index);
  void poll();
  void run_clusters();
  void flush_printed();
  [[noreturn]] void deadlock(const std::string &message);
  uint64_t progress() const;
  void collect_counters();

  std::vector<std::unique_ptr<Cluster>> resident;
  uint64_t slices = 0;
  std::map<uint64_t, std::string> printed; // by the linear index of the block
  uint64_t progress_at_poll = 0;
  uint64_t progress_at_wake = 0;
  uint32_t wakes = 0;
  uint32_t slice = 256;   // warp instructions
  uint32_t eagerness = 0; // of 256: how often a slice is followed by an asynchronous operation
  uint64_t next_cluster = 0;
  uint64_t cluster_count = 0;
};

} // namespace ptxsim
