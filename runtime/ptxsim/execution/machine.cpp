#include "execution/machine.h"

#include "execution/launch_limits.h"
#include "execution/waiting_report.h"
#include "program/opcode.h"

#include <algorithm>
#include <cstring>

namespace ptxsim {

Machine::Machine(Program &program, const Function &entry, LaunchOptions given)
    : program(program), entry(entry), options(std::move(given)), random(options.seed * 0x9E3779B97F4A7C15u + 1) {
  check_launch(program, entry, options);
  opcode_counts.assign(opcode_table().size(), 0);
  lane_counts.assign(opcode_table().size(), 0);
  // Seed 0 completes asynchronous work as late as possible; others mix eager and late, long and short slices.
  static constexpr uint32_t eagerness_of[] = {2, 16, 128, 255, 64};
  static constexpr uint32_t slice_of[] = {256, 64, 512, 16, 128, 1024, 7};
  eagerness = eagerness_of[options.seed % 5];
  slice = slice_of[options.seed % 7];
  cluster_count = volume(options.grid) / volume(options.cluster);
  resident_limit = resident_clusters(program, entry, options);
  prepare_memory();
}

Machine::~Machine() = default;

void Machine::prepare_memory() {
  for (const Range &range : options.ranges)
    global.add(range);
  if (options.unchecked_global)
    global.allow_all();
  // The parameters are aligned to 128 bytes, since tensor maps among them need 64.
  parameter_storage.resize(options.parameters.size() / 8 + 18);
  uint64_t start = (reinterpret_cast<uint64_t>(parameter_storage.data()) + 127) / 128 * 128;
  parameters = reinterpret_cast<uint8_t *>(start);
  if (!options.parameters.empty())
    std::memcpy(parameters, options.parameters.data(), options.parameters.size());
  for (const Variable &variable : program.variables)
    if ((variable.space == Space::Global || variable.space == Space::Const) && !variable.external) {
      std::memcpy(reinterpret_cast<void *>(variable.address), variable.bytes.data(), variable.size);
      global.add({variable.address, variable.size, variable.space == Space::Global});
    }
}

/// CUDA C++ Programming Guide, "Heap Memory Allocation": the default size of the heap, and the alignment of malloc.
static constexpr uint64_t heap_limit = 8 << 20, heap_alignment = 16;

/// The bytes of the heap that memory of `size` bytes takes.
static uint64_t heap_share(uint64_t size) { return (size + heap_alignment - 1) / heap_alignment * heap_alignment; }

uint64_t Machine::allocate(uint64_t size) {
  if (!size || size > heap_limit || heap_bytes + heap_share(size) > heap_limit)
    return 0;
  auto storage = std::make_unique<uint64_t[]>((heap_share(size) + heap_alignment) / sizeof(uint64_t));
  const Range range{heap_share(reinterpret_cast<uint64_t>(storage.get())), size, true};
  heap_bytes += heap_share(size);
  heap[range.address] = {range, std::move(storage)};
  global.add(range);
  return range.address;
}

bool Machine::release(uint64_t address) {
  const auto found = heap.find(address);
  if (found == heap.end())
    return false;
  const uint64_t bytes = heap_share(found->second.range.size);
  heap_bytes -= bytes;
  global.remove(address);
  released_heap.push_back(std::move(found->second));
  heap.erase(found);
  // An access after free is found until eight heaps of memory have been released.
  for (released_heap_bytes += bytes; released_heap_bytes > 8 * heap_limit; released_heap.pop_front())
    released_heap_bytes -= heap_share(released_heap.front().range.size);
  return true;
}

uint32_t Machine::dynamic_shared_offset() const { return uint32_t(dynamic_shared_begin(program, entry)); }

uint32_t Machine::shared_bytes() const { return dynamic_shared_offset() + options.dynamic_shared_bytes; }

void Machine::unconfirmed(const Origin &origin, const std::string &behaviour) {
  if (!options.allow_unconfirmed)
    trap(origin, trap_kind::unconfirmed, behaviour + ": NVIDIA does not document this (allow_unconfirmed permits it)");
}

void Machine::trap(const Origin &origin, const char *kind, const std::string &message, std::vector<std::string> notes) {
  Trap result;
  result.kind = kind;
  result.message = message;
  result.notes = std::move(notes);
  if (origin.instruction) {
    result.line = origin.instruction->line;
    const SourceLocation &location = program.locations[origin.instruction->location];
    result.file = location.file;
    result.source_line = location.line;
  }
  if (origin.warp) {
    uint32_t thread = origin.warp->index * lane_count + origin.lane;
    result.block = origin.warp->cta.index;
    result.thread = {thread % options.block[0], thread / options.block[0] % options.block[1],
                     thread / options.block[0] / options.block[1]};
  }
  throw result;
}

/// The index of the next cluster, which starts or is canceled.
std::array<uint32_t, 3> Machine::take_cluster() {
  const uint64_t number = next_cluster++;
  const uint32_t x = options.grid[0] / options.cluster[0], y = options.grid[1] / options.cluster[1];
  return {uint32_t(number % x), uint32_t(number / x % y), uint32_t(number / x / y)};
}

void Machine::launch_cluster() { resident.push_back(std::make_unique<Cluster>(*this, take_cluster())); }

std::optional<std::array<uint32_t, 3>> Machine::cancel_cluster() {
  // Other clusters start first now and then, as on a device that has room for them, and requests fail although clusters
  // are left. Not with seed 0.
  constexpr uint32_t starts_in_16 = 4, failures_in_16 = 1;
  if (options.seed && random() % 16 < starts_in_16)
    launch_more(1);
  if (next_cluster == cluster_count || (options.seed && random() % 16 < failures_in_16))
    return std::nullopt;
  ++counters["clusters_canceled"];
  return take_cluster();
}

bool Machine::may_launch() const { return next_cluster < cluster_count && resident.size() < resident_limit; }

/// Starts `count` clusters, or as many as the device holds.
void Machine::launch_more(uint64_t count) {
  for (; count && may_launch(); --count)
    launch_cluster();
  launched_at = steps;
}

/// Runs one of the runnable warps for a random number of instructions, then performs an asynchronous operation with
/// probability eagerness / 256.
bool Machine::run_slice(Cluster &cluster) {
  std::vector<Warp *> ready;
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps)
      if (warp->runnable())
        ready.push_back(warp.get());
  if (ready.empty() && cluster.async.empty())
    return false;
  if (!ready.empty() && spin_detector.active) {
    run_round(ready);
    if (spin_detector.repeats(cluster))
      cluster.spins_since = changes;
  } else if (!ready.empty()) {
    Warp &chosen = *ready[random() % ready.size()];
    steps += chosen.run(1 + random() % slice);
  }
  if (options.step_limit && steps > options.step_limit)
    stop_at_limit(trap_kind::step_limit, std::to_string(options.step_limit) + " warp instructions");
  if (!cluster.async.empty() && (ready.empty() || random() % 256 < eagerness)) {
    cluster.async.perform_one(random);
    changed();
  }
  return true;
}

/// Each warp that can continue runs up to its next backward jump. The order is fixed, so that a cluster that returns to
/// an earlier state repeats itself.
void Machine::run_round(const std::vector<Warp *> &ready) {
  constexpr uint64_t steps_without_jump = 4096;
  for (Warp *warp : ready)
    if (warp->runnable())
      steps += warp->run_round(steps_without_jump);
}

/// Makes waiting polls return false, so that the program can take another path. Returns false if no poll waits, or if
/// this has not led to progress four times.
bool Machine::wake_polls() {
  if (changes + arrivals != changes_at_wake)
    wake_count = 0;
  changes_at_wake = changes + arrivals;
  if (++wake_count > 4)
    return false;
  bool woken = false;
  for (const auto &cluster : resident)
    for (const auto &cta : cluster->ctas)
      for (const auto &warp : cta->warps)
        for (Fragment &fragment : warp->fragments)
          if (warp->live && fragment.state == Fragment::State::Waiting && program.code[fragment.pc].is_poll) {
            fragment.poll_returns = woken = true;
            fragment.state = Fragment::State::Runnable;
            cluster->spins_since = 0;
          }
  return woken;
}

void Machine::deadlock(const std::string &message) {
  WaitingReport report(program, resident);
  for (const auto &cluster : resident)
    for (const auto &cta : cluster->ctas)
      for (size_t group = 0; group < cta->warpgroups.size(); ++group)
        if (std::string missing = cta->warpgroups[group].missing(uint32_t(group) * warpgroup_warps); !missing.empty())
          trap({cta->warpgroups[group].oldest(), cta->warps[group * warpgroup_warps].get(), 0}, trap_kind::divergence,
               missing, std::move(report.notes));
  if (next_cluster < cluster_count)
    report.notes.push_back("the other " + std::to_string(cluster_count - next_cluster) + " of " +
                           std::to_string(cluster_count) + " clusters cannot start: the device holds at most " +
                           std::to_string(resident_limit) + " at the same time");
  trap(report.origin, report.diverged ? trap_kind::divergence : trap_kind::deadlock, message, std::move(report.notes));
}

uint64_t Machine::ended_clusters() const { return next_cluster - resident.size(); }

void Machine::stop_at_limit(const char *kind, const std::string &limit) {
  WaitingReport report(program, resident);
  trap(report.origin, kind,
       "the run exceeds " + limit + ": " + std::to_string(ended_clusters()) + " of " + std::to_string(cluster_count) +
           " clusters have ended; raise the limit, or look for a wait that does not end at the lines below",
       std::move(report.notes));
}

void Machine::finish_cluster(size_t index) {
  Cluster &cluster = *resident[index];
  while (!cluster.async.empty())
    cluster.async.perform_one(random);
  if (options.checks)
    cluster.check_finished();
  resident.erase(resident.begin() + ptrdiff_t(index));
  launched_at = steps;
}

/// Periodic housekeeping: handles signals of the process, checks the limits of the run, and starts clusters if the
/// resident ones may wait for them.
void Machine::poll() {
  if (options.poll)
    options.poll();
  if (options.progress) {
    const auto [x, y, z] = options.cluster;
    const uint64_t blocks = uint64_t(x) * y * z;
    options.progress(ended_clusters() * blocks, cluster_count * blocks);
  }
  check_limits();
  observe_spinning();
  // A cluster may wait for one that has not started, in a loop that the spin detector cannot decide (a timeout, a
  // lock).
  constexpr uint64_t steps_without_change = 20'000, steps_without_end = 4'000'000;
  if (steps - std::max(latest_change, launched_at) > steps_without_change)
    launch_more(1);
  else if (steps - launched_at > steps_without_end * resident.size())
    launch_more(resident.size());
}

void Machine::check_limits() {
  if (options.time_limit_s > 0) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (elapsed.count() > options.time_limit_s) {
      char text[32];
      std::snprintf(text, sizeof text, "%g s", options.time_limit_s);
      stop_at_limit(trap_kind::time_limit, text);
    }
  }
  if (!options.step_limit && steps - latest_write > options.idle_limit)
    deadlock("no thread has written memory in " + std::to_string(options.idle_limit) +
             " warp instructions (a step_limit allows more)");
}

/// Runs the clusters in rounds now and then while memory does not change, for longer each time, since rounds take more
/// time than slices.
void Machine::observe_spinning() {
  constexpr uint64_t first_round_steps = 1024, maximum_steps = 1'000'000, pause = 16;
  if (steps - latest_change <= spin_threshold) {
    spin_detector.stop();
    observed_from = observed_until = 0;
    return;
  }
  if (!spin_detector.active && steps >= observed_from) {
    uint64_t warps = 0;
    for (const auto &cluster : resident)
      for (const auto &cta : cluster->ctas)
        warps += cta->warps.size();
    observed_length = observed_until ? std::min(2 * observed_length, maximum_steps) : first_round_steps * warps;
    observed_until = steps + observed_length;
    spin_detector.active = true;
  } else if (spin_detector.active && steps > observed_until) {
    spin_detector.stop();
    observed_from = steps + pause * observed_length;
  }
}

void Machine::print(const Cta &cta, const std::string &text) {
  changed();
  const auto &grid = options.grid;
  printed[(uint64_t(cta.index[2]) * grid[1] + cta.index[1]) * grid[0] + cta.index[0]] += text;
}

void Machine::flush_printed() {
  if (options.print)
    for (const auto &[block, text] : printed)
      options.print(text);
  printed.clear();
}

Counters Machine::run() {
  try {
    run_clusters();
  } catch (const Trap &) {
    flush_printed();
    throw;
  }
  flush_printed();
  collect_counters();
  return counters;
}

void Machine::run_clusters() {
  constexpr size_t initial_clusters = 2;
  start = std::chrono::steady_clock::now();
  while (next_cluster < cluster_count || !resident.empty()) {
    while (resident.size() < initial_clusters && next_cluster < cluster_count)
      launch_cluster();
    size_t first = random() % resident.size();
    bool progressed = false;
    for (size_t i = 0; i < resident.size() && !progressed; ++i) {
      size_t index = (first + i) % resident.size();
      if (spins(*resident[index]))
        continue;
      progressed = run_slice(*resident[index]);
      if (resident[index]->finished()) {
        finish_cluster(index);
        progressed = true;
      }
    }
    constexpr uint64_t slices_between_polls = 1 << 8;
    if (++slices % slices_between_polls == 0)
      poll();
    if (progressed)
      continue;
    const bool spinning =
        std::any_of(resident.begin(), resident.end(), [&](const auto &cluster) { return spins(*cluster); });
    // Later waits of this launch are found sooner.
    constexpr uint64_t spin_threshold_of_waiting_launch = 2'000;
    if (spinning)
      spin_threshold = spin_threshold_of_waiting_launch;
    // The resident clusters may wait for one that has not started.
    if (may_launch())
      launch_more(resident.size());
    else if (!wake_polls())
      deadlock(spinning ? "no thread can make progress: the running ones repeat the same state, and no asynchronous "
                          "work is pending"
                        : "no thread can make progress: all of them wait, and no asynchronous work is pending");
  }
}

void Machine::collect_counters() {
  const auto &table = opcode_table();
  for (size_t row = 0; row < table.size(); ++row) {
    if (!opcode_counts[row])
      continue;
    counters["instructions." + std::string(group_name(table[row]->group))] += opcode_counts[row];
    counters["instructions"] += opcode_counts[row];
    counters["thread_instructions"] += lane_counts[row];
  }
  counters["clusters"] = cluster_count;
  counters["bytes.shared_read"] = traffic.shared_read;
  counters["bytes.shared_written"] = traffic.shared_written;
  counters["bytes.global_read"] = traffic.global_read;
  counters["bytes.global_written"] = traffic.global_written;
  counters["shared_bank_conflicts"] = traffic.bank_conflicts;
  counters["barrier_arrivals"] = traffic.barrier_arrivals;
  counters["mbarrier_waits"] = traffic.mbarrier_waits;
}

} // namespace ptxsim
