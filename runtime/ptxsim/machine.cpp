#include "machine.h"

#include "launch_limits.h"
#include "opcode.h"

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

void Machine::launch_cluster() {
  uint64_t number = next_cluster++;
  uint32_t x = options.grid[0] / options.cluster[0];
  uint32_t y = options.grid[1] / options.cluster[1];
  resident.push_back(std::make_unique<Cluster>(
      *this, std::array<uint32_t, 3>{uint32_t(number % x), uint32_t(number / x % y), uint32_t(number / x / y)}));
}

uint64_t Machine::progress() const {
  uint64_t sum = next_cluster;
  for (const auto &cluster : resident)
    sum += cluster->progress;
  return sum;
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
  if (!ready.empty()) {
    Warp &chosen = *ready[random() % ready.size()];
    steps += chosen.run(1 + random() % slice);
    if (options.step_limit && steps > options.step_limit)
      trap(chosen.origin(), trap_kind::step_limit,
           "the run exceeds " + std::to_string(options.step_limit) + " warp instructions");
  }
  if (!cluster.async.empty() && (ready.empty() || random() % 256 < eagerness)) {
    cluster.async.perform_one(random);
    changed();
  }
  return true;
}

/// Makes waiting polls return false, so that the program can take another path. Returns false if no poll waits, or if
/// this has not led to progress four times.
bool Machine::wake_polls() {
  if (progress() != progress_at_wake)
    wake_count = 0;
  progress_at_wake = progress();
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
          }
  return woken;
}

void Machine::deadlock(const std::string &message) {
  std::vector<std::string> notes;
  Origin origin;
  bool diverged = false; // lanes of a warp wait for each other at different instructions
  for (const auto &cluster : resident)
    for (const auto &cta : cluster->ctas)
      for (const auto &warp : cta->warps) {
        diverged |= warp->live &&
                    std::all_of(warp->fragments.begin(), warp->fragments.end(),
                                [](const Fragment &fragment) { return fragment.state == Fragment::State::Converging; });
        for (const Fragment &fragment : warp->fragments) {
          if (!warp->live)
            continue;
          const Instruction &at = program.code[fragment.pc];
          if (!origin.instruction)
            origin = {&at, warp.get(), uint32_t(__builtin_ctz(fragment.mask))};
          notes.push_back("CTA rank " + std::to_string(cta->rank) + " warp " + std::to_string(warp->index) +
                          " waits at line " + std::to_string(at.line) + ": " + at.text +
                          (fragment.state == Fragment::State::Converging ? ", for other lanes of the warp" : ""));
        }
      }
  for (const auto &cluster : resident)
    for (const auto &cta : cluster->ctas)
      for (size_t group = 0; group < cta->warpgroups.size(); ++group)
        if (std::string missing = cta->warpgroups[group].missing(uint32_t(group) * warpgroup_warps); !missing.empty())
          trap({cta->warpgroups[group].oldest(), cta->warps[group * warpgroup_warps].get(), 0}, trap_kind::divergence,
               missing, std::move(notes));
  trap(origin, diverged ? trap_kind::divergence : trap_kind::deadlock, message, std::move(notes));
}

void Machine::finish_cluster(size_t index) {
  Cluster &cluster = *resident[index];
  while (!cluster.async.empty())
    cluster.async.perform_one(random);
  if (options.checks)
    cluster.check_finished();
  resident.erase(resident.begin() + ptrdiff_t(index));
}

/// Periodic housekeeping: handles signals of the process, starts a cluster if the resident ones spin, and detects
/// deadlocks.
void Machine::poll() {
  if (options.poll)
    options.poll();
  if (progress() != progress_at_poll) {
    progress_at_poll = progress();
    latest_write = steps;
  }
  constexpr uint64_t steps_until_deadlock = 100'000'000, steps_until_spin_detection = 20'000;
  if (steps - latest_write <= steps_until_spin_detection) {
    spin_detector.stop();
    return;
  }
  if (next_cluster < cluster_count) {
    launch_cluster();
    return;
  }
  spin_detector.active = true;
  const bool stuck = std::all_of(resident.begin(), resident.end(),
                                 [&](const auto &cluster) { return spin_detector.is_stuck(*cluster); });
  if (stuck && !wake_polls())
    deadlock(
        "no thread can make progress: the running ones repeat the same state, and no asynchronous work is pending");
  if (!options.step_limit && steps - latest_write > steps_until_deadlock)
    deadlock("no thread has written memory or passed a barrier in 100 million instructions (a step_limit allows more)");
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
  constexpr size_t resident_clusters = 2;
  while (next_cluster < cluster_count || !resident.empty()) {
    while (resident.size() < resident_clusters && next_cluster < cluster_count)
      launch_cluster();
    size_t first = random() % resident.size();
    bool progressed = false;
    for (size_t i = 0; i < resident.size() && !progressed; ++i) {
      size_t index = (first + i) % resident.size();
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
    // The resident clusters may wait for one that has not started.
    if (next_cluster < cluster_count)
      launch_cluster();
    else if (!wake_polls())
      deadlock("no thread can make progress: all of them wait, and no asynchronous work is pending");
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
