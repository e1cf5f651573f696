#include "execution/launch_limits.h"

#include "program/special.h"

#include <algorithm>

namespace ptxsim {

namespace {

using Extents = std::array<uint32_t, 3>;

// CUDA C++ Programming Guide, "Features and Technical Specifications per Compute Capability": 9.0 and 10.0.
constexpr Extents maximum_grid = {0x7FFF'FFFF, 65535, 65535};
constexpr Extents maximum_block = {1024, 1024, 64};
constexpr uint64_t maximum_block_threads = 1024;
constexpr uint64_t maximum_cluster_ctas = 16; // 8 are portable; more need an attribute of the function
constexpr uint64_t maximum_shared_bytes = 227 * 1024;
// The same table, per SM.
constexpr uint64_t sm_blocks = 32;
constexpr uint64_t sm_threads = 2048;
constexpr uint64_t sm_shared_bytes = 228 * 1024;
constexpr uint64_t sm_registers = 64 * 1024;

std::string text_of(const Extents &size) {
  return std::to_string(size[0]) + "x" + std::to_string(size[1]) + "x" + std::to_string(size[2]);
}

[[noreturn]] void refuse(const std::string &message) { throw PtxError(0, 0, message); }

void check_extents(const char *subject, const Extents &size, const Extents &maximum) {
  for (size_t i = 0; i < 3; ++i)
    if (size[i] > maximum[i])
      refuse(std::string("a ") + subject + " has at most " + std::to_string(maximum[i]) + " in dimension " + "xyz"[i] +
             ", found " + text_of(size));
}

void check_shape(const Function &entry, const LaunchOptions &options) {
  if (!volume(options.grid) || !volume(options.block) || !volume(options.cluster))
    refuse("grid, block and cluster need at least 1 in each dimension");
  if (volume(options.block) > maximum_block_threads)
    refuse("a block has at most 1024 threads, found " + text_of(options.block));
  check_extents("grid", options.grid, maximum_grid);
  check_extents("block", options.block, maximum_block);
  if (volume(options.cluster) > maximum_cluster_ctas)
    refuse("a cluster has at most 16 CTAs, found " + text_of(options.cluster));
  if (volume(entry.required_threads) && volume(entry.required_threads) != volume(options.block))
    refuse("'" + entry.name + "' requires " + text_of(entry.required_threads) + " threads (.reqntid), found " +
           text_of(options.block));
  if (volume(entry.max_threads) && volume(entry.max_threads) < volume(options.block))
    refuse("'" + entry.name + "' allows " + text_of(entry.max_threads) + " threads (.maxntid), found " +
           text_of(options.block));
  if (volume(entry.cluster) && entry.cluster != options.cluster)
    refuse("'" + entry.name + "' requires clusters of " + text_of(entry.cluster) + ", found " +
           text_of(options.cluster));
  for (size_t i = 0; i < 3; ++i)
    if (options.grid[i] % options.cluster[i])
      refuse("the grid " + text_of(options.grid) + " is not a multiple of the cluster " + text_of(options.cluster));
}

} // namespace

uint64_t volume(const Extents &extents) { return uint64_t(extents[0]) * extents[1] * extents[2]; }

uint64_t dynamic_shared_begin(const Program &program, const Function &entry) {
  uint64_t alignment = 16;
  for (const Variable &variable : program.variables)
    if (variable.external && variable.space == Space::SharedCta)
      alignment = std::max<uint64_t>(alignment, variable.alignment);
  return (shared_base + uint64_t(entry.shared_bytes) + alignment - 1) / alignment * alignment;
}

uint64_t resident_clusters(const Program &program, const Function &entry, const LaunchOptions &options) {
  const uint64_t threads = (volume(options.block) + lane_count - 1) / lane_count * lane_count;
  // Each block also occupies the bytes that the system reserves, which dynamic_shared_begin includes.
  const uint64_t shared = dynamic_shared_begin(program, entry) + options.dynamic_shared_bytes;
  const uint64_t registers = uint64_t(entry.launch_registers) * threads;
  uint64_t blocks = std::min(sm_blocks, sm_threads / threads);
  blocks = std::min(blocks, sm_shared_bytes / shared);
  if (registers)
    blocks = std::min(blocks, sm_registers / registers);
  return std::max<uint64_t>(1, sm_count(program) * std::max<uint64_t>(1, blocks) / volume(options.cluster));
}

void check_launch(const Program &program, const Function &entry, const LaunchOptions &options) {
  check_shape(entry, options);
  const uint64_t shared = dynamic_shared_begin(program, entry) - shared_base + options.dynamic_shared_bytes;
  if (shared > maximum_shared_bytes)
    refuse("a block has at most " + std::to_string(maximum_shared_bytes) + " bytes of shared memory, found " +
           std::to_string(shared) + ": " + std::to_string(entry.shared_bytes) + " static and " +
           std::to_string(options.dynamic_shared_bytes) + " dynamic");
  if (options.parameters.size() != entry.parameter_bytes)
    refuse("'" + entry.name + "' takes " + std::to_string(entry.parameter_bytes) + " bytes of parameters, found " +
           std::to_string(options.parameters.size()));
}

} // namespace ptxsim
