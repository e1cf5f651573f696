#include "execution/waiting_report.h"

#include "execution/machine.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace ptxsim {

namespace {

constexpr size_t maximum_single_notes = 8; // one per warp; more warps are grouped by instruction
constexpr size_t maximum_blocks_named = 4;

using Block = std::array<uint32_t, 3>;

/// Fragments that wait at one instruction.
struct Group {
  size_t warps = 0;
  std::set<Block> blocks;
};

std::string text_of(const Block &block) {
  return "(" + std::to_string(block[0]) + ", " + std::to_string(block[1]) + ", " + std::to_string(block[2]) + ")";
}

std::string counted(size_t count, const std::string &noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// The line of the PTX, the instruction, and the line of the source.
std::string place_of(const Program &program, const Instruction &at, bool converging) {
  const SourceLocation &location = program.locations[at.location];
  return "line " + std::to_string(at.line) + ": " + at.text + (converging ? ", for other lanes of the warp" : "") +
         (location.file.empty() ? "" : " (" + location.file + ":" + std::to_string(location.line) + ")");
}

std::string names_of(const std::set<Block> &blocks) {
  std::string names;
  size_t count = 0;
  for (const Block &block : blocks) {
    if (++count > maximum_blocks_named)
      return names + " and " + std::to_string(blocks.size() - maximum_blocks_named) + " more";
    names += (names.empty() ? "" : ", ") + text_of(block);
  }
  return names;
}

} // namespace

WaitingReport::WaitingReport(const Program &program, const std::vector<std::unique_ptr<Cluster>> &clusters) {
  std::map<std::tuple<uint32_t, bool>, Group> groups;
  std::vector<std::string> single;
  bool origin_runs = false;
  const bool names_block = clusters.size() > 1;
  for (const auto &cluster : clusters)
    for (const auto &cta : cluster->ctas)
      for (const auto &warp : cta->warps) {
        if (!warp->live)
          continue;
        diverged |= std::all_of(warp->fragments.begin(), warp->fragments.end(),
                                [](const Fragment &fragment) { return fragment.state == Fragment::State::Converging; });
        for (const Fragment &fragment : warp->fragments) {
          const Instruction &at = program.code[fragment.pc];
          const bool runs = fragment.state == Fragment::State::Runnable;
          const bool converging = fragment.state == Fragment::State::Converging;
          if (!origin.instruction || (runs && !origin_runs)) {
            origin = {&at, warp.get(), uint32_t(__builtin_ctz(fragment.mask))};
            origin_runs = runs;
          }
          Group &group = groups[{fragment.pc, converging}];
          ++group.warps;
          group.blocks.insert(cta->index);
          single.push_back((names_block ? "block " + text_of(cta->index) : "CTA rank " + std::to_string(cta->rank)) +
                           " warp " + std::to_string(warp->index) + " waits at " + place_of(program, at, converging));
        }
      }
  if (single.size() <= maximum_single_notes) {
    notes = std::move(single);
    return;
  }
  for (const auto &[key, group] : groups) {
    const auto [pc, converging] = key;
    notes.push_back(counted(group.warps, "warp") + " of " + counted(group.blocks.size(), "block") + ", " +
                    names_of(group.blocks) + (group.warps == 1 ? ", waits at " : ", wait at ") +
                    place_of(program, program.code[pc], converging));
  }
}

} // namespace ptxsim
