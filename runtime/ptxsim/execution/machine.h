// A launch: the grid, its clusters and CTAs, the scheduler and the counters.
#pragma once

#include "execution/spin_detector.h"
#include "execution/warp.h"
#include "memory/async.h"
#include "memory/mbarrier.h"
#include "memory/memory.h"
#include "memory/read_only_loads.h"
#include "memory/shadow.h"
#include "program/program.h"
#include "tensor/fragments/warpgroup.h"
#include "tma/tensor_map/tensor_map_proxy.h"

#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <unordered_map>

namespace ptxsim {

class TensorMemory; // tensor/tcgen05/tensor_memory.h

struct LaunchOptions {
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint32_t, 3> block{1, 1, 1};
  std::array<uint32_t, 3> cluster{1, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
  std::vector<uint8_t> parameters;
  std::vector<Range> ranges;
  uint64_t seed = 0;
  bool checks = true;                   // races, initialisation, protocol
  bool allow_unconfirmed = false;       // behaviour that NVIDIA does not document
  bool unchecked_global = false;        // permits global addresses outside `ranges`
  bool same_value_races = false;        // report concurrent stores of the same value as races
  bool tensor_load_waits = false;       // reads of the registers of tcgen05.ld need tcgen05.wait::ld
  bool read_fences = true;              // generic reads need fence.proxy.async before an asynchronous write
  uint64_t step_limit = 0;              // warp instructions; 0: none
  uint64_t idle_limit = 10'000'000'000; // warp instructions without a write to memory; unused with a step_limit
  double time_limit_s = 0;              // 0: none
  std::function<void()> poll;           // called periodically; may throw to stop the run
  // Called periodically with the numbers of blocks that have ended, and of all.
  std::function<void(uint64_t, uint64_t)> progress;
  std::function<void(const std::string &)> print; // takes the output of vprintf
};

/// The counters of a launch by name.
struct Counters {
  std::map<std::string, uint64_t> values;
  uint64_t &operator[](const std::string &name) { return values[name]; }
};

/// Bytes moved by loads and stores of threads.
struct Traffic {
  uint64_t shared_read = 0, shared_written = 0;
  uint64_t global_read = 0, global_written = 0;
  uint64_t barrier_arrivals = 0;
  uint64_t mbarrier_waits = 0; // successful ones
  uint64_t bank_conflicts = 0; // wavefronts of shared memory beyond one per 128 bytes
};

/// One of the 16 barriers of a CTA (bar, barrier.cta), or the barrier of a cluster.
struct NamedBarrier {
  uint64_t generation = 0;
  uint32_t arrived = 0;     // threads
  uint32_t expected = 0;    // threads; 0 before the first arrival of a generation
  bool expects_all = false; // expects all threads that have not exited
  uint32_t line = 0;
  Knowledge gathering;     // of the arrivals in this generation
  Knowledge complete;      // of all arrivals in the last generation
  uint32_t population = 0; // reduction of bar.red in this generation
  uint32_t reduced = 0;    // reduction of bar.red in the last generation

  /// Completes the generation.
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
  std::vector<uint8_t> shared; // from offset 0; the first shared_base bytes are reserved
  Shadow shadow;               // of `shared`
  std::unique_ptr<TensorMemory> tensor_memory;
  std::array<NamedBarrier, 16> barriers;
  std::vector<Warpgroup> warpgroups;              // of 128 threads each
  uint32_t observed_failure_line = 0;             // of the query of a failed request for another block; 0: none
  std::map<uint32_t, Mbarrier> mbarriers;         // by offset
  std::map<uint32_t, Mbarrier> retired_mbarriers; // agents of objects before mbarrier.init or after mbarrier.inval

  bool finished() const;
  std::vector<bool> holds_mbarrier; // by block of 16 bytes
  uint32_t free_registers = 0;      // per lane of a warp: the pool that setmaxnreg.dec fills and .inc takes from

  /// Threads of the warp have exited: barriers of the CTA and the cluster no longer expect them.
  void handle_exit(Warp &warp);
  uint32_t live_threads() const;
  /// The object at this offset. Traps if no mbarrier is initialised there.
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
  uint64_t spins_since = 0; // the value of Machine::changes at which the cluster repeats itself; 0: it does not
  uint64_t progress = 1;    // incremented by every event after which a waiting fragment may continue
  std::vector<std::string> agent_names;
  std::map<uint64_t, Knowledge> released_at; // knowledge that releases have published, by address

  Agent new_agent(std::string name);
  Cta *cta_of(uint64_t shared_address); // nullptr if the rank is not in the cluster
  AsyncQueue &queue(QueueKind kind, Warp &warp, uint32_t discriminator);
  AsyncQueue *find_queue(QueueKind kind, Warp &warp, uint32_t discriminator);
  bool finished() const;
  void handle_exit();
  /// All threads have exited: traps if they have not waited for a copy.
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
  ReadOnlyLoads read_only_loads; // used if the program loads read-only memory
  std::mt19937_64 random;
  Counters counters;
  Traffic traffic;
  std::vector<uint64_t> parameter_storage; // the entry's parameters, 64-byte aligned within
  uint8_t *parameters = nullptr;
  uint64_t steps = 0;         // warp instructions
  uint64_t latest_write = 0;  // the step at which any memory last changed
  uint64_t latest_change = 0; // the step of the last of `changes`
  uint64_t changes = 1;       // of memory that is not part of the state that the spin detector compares
  uint64_t arrivals = 0;      // at mbarriers
  SpinDetector spin_detector;

  /// An instruction or an asynchronous operation has changed a value that other threads can see, or a thread has
  /// exited.
  void changed() {
    latest_write = latest_change = steps;
    ++changes;
  }
  /// A weak store has changed shared memory.
  void changed_shared() { latest_write = steps; }
  void changed_mbarrier() {
    latest_write = steps;
    ++arrivals;
  }

  /// The address of memory in the heap of the device, a multiple of 16; 0 if the heap is full.
  uint64_t allocate(uint64_t size);
  /// Ends the lifetime of memory of the heap; false for an address that allocate() has not returned.
  bool release(uint64_t address);

  /// Cancels a cluster that has not started, for the cluster that requests it, and returns its index. Fails if none is
  /// left, or at the choice of the seed: the device refuses requests if another grid of a higher priority waits.
  std::optional<std::array<uint32_t, 3>> cancel_cluster();

  /// Records output of vprintf, which is printed block by block when the run ends.
  void print(const Cta &cta, const std::string &text);

  uint32_t shared_bytes() const; // reserved, static and dynamic
  uint32_t dynamic_shared_offset() const;
  [[noreturn]] void trap(const Origin &origin, const char *kind, const std::string &message,
                         std::vector<std::string> notes = {});
  /// Traps "unconfirmed" unless the run allows undocumented behaviour.
  void unconfirmed(const Origin &origin, const std::string &behaviour);
  std::vector<uint64_t> opcode_counts; // warp instructions, by row
  std::vector<uint64_t> lane_counts;   // thread instructions, by row

private:
  void prepare_memory();
  std::array<uint32_t, 3> take_cluster();
  void launch_cluster();
  void launch_more(uint64_t count);
  bool may_launch() const;
  bool run_slice(Cluster &cluster); // false if no warp of the cluster can continue
  void run_round(const std::vector<Warp *> &ready);
  void check_limits();
  void observe_spinning();
  bool spins(const Cluster &cluster) const { return cluster.spins_since == changes; }
  bool wake_polls();
  void finish_cluster(size_t index);
  void poll();
  void run_clusters();
  void flush_printed();
  [[noreturn]] void deadlock(const std::string &message);
  uint64_t ended_clusters() const;
  [[noreturn]] void stop_at_limit(const char *kind, const std::string &limit);
  void collect_counters();

  std::vector<std::unique_ptr<Cluster>> resident;
  struct HeapBlock {
    Range range;
    std::unique_ptr<uint64_t[]> storage;
  };
  std::map<uint64_t, HeapBlock> heap;  // by address
  std::deque<HeapBlock> released_heap; // the latest, kept so that their addresses are not used again
  uint64_t released_heap_bytes = 0;
  uint64_t heap_bytes = 0;
  uint64_t slices = 0;
  std::map<uint64_t, std::string> printed; // by the linear index of the block
  std::chrono::steady_clock::time_point start;
  uint64_t launched_at = 0; // the step at which a cluster last started or ended
  uint64_t spin_threshold = 20'000;
  uint64_t observed_from = 0, observed_until = 0, observed_length = 0; // in steps: runs in rounds
  uint64_t changes_at_wake = 0;
  uint32_t wake_count = 0;
  uint32_t slice = 256;   // warp instructions
  uint32_t eagerness = 0; // in 1/256: the probability of an asynchronous operation after a slice
  uint64_t next_cluster = 0;
  uint64_t cluster_count = 0;
  uint64_t resident_limit = 0; // in clusters
};

} // namespace ptxsim
