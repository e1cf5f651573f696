#include "tensor/fragments/warpgroup.h"

#include "execution/machine.h"

namespace ptxsim {

WarpgroupStep &Warpgroup::arrive(Warp &warp, const Instruction &in) {
  const uint32_t member = warp.index % warpgroup_warps, first = warp.index - member;
  uint64_t number = executed[member]++ - retired;
  if (number == steps.size()) {
    for (uint32_t other = 0; other < warpgroup_warps; ++other)
      if (warp.cta.warps[first + other]->finished())
        warp.trap(trap_kind::divergence, "'" + in.text + "' needs all four warps of the warpgroup, but warp " +
                                             std::to_string(first + other) + " has exited");
    steps.emplace_back();
    steps.back().instruction = &in;
  }
  WarpgroupStep &step = steps[number];
  if (step.instruction != &in)
    warp.trap(trap_kind::divergence,
              "'" + in.text + "' is executed while other warps of the warpgroup execute '" + step.instruction->text +
                  "' of line " + std::to_string(step.instruction->line),
              {"all four warps of a warpgroup execute the same wgmma instructions"});
  if (!step.arrived) {
    step.happened = warp.clock.known.happened;
    step.proxied = warp.clock.known.proxied;
  } else {
    step.happened.intersect(warp.clock.known.happened);
    step.proxied.intersect(warp.clock.known.proxied);
  }
  step.arrived |= 1u << member;
  warp.machine.changed();
  return step;
}

void Warpgroup::retire() {
  while (!steps.empty() && steps.front().complete()) {
    steps.pop_front();
    ++retired;
  }
}

void Warpgroup::check_exit(Warp &warp) const {
  const uint64_t number = executed[warp.index % warpgroup_warps] - retired;
  if (number < steps.size())
    warp.trap(trap_kind::divergence,
              "warp " + std::to_string(warp.index) + " exits, but other warps of its warpgroup have executed '" +
                  steps[number].instruction->text + "' of line " + std::to_string(steps[number].instruction->line));
}

std::string Warpgroup::missing(uint32_t first_warp) const {
  if (steps.empty())
    return {};
  std::string warps;
  for (uint32_t member = 0; member < warpgroup_warps; ++member)
    if (!(steps.front().arrived >> member & 1))
      warps += (warps.empty() ? "" : ", ") + std::to_string(first_warp + member);
  return "'" + steps.front().instruction->text + "' of line " + std::to_string(steps.front().instruction->line) +
         " is not executed by all four warps of the warpgroup: missing " + warps;
}

} // namespace ptxsim
