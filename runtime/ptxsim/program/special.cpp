#include "program/special.h"

#include "execution/launch_limits.h"
#include "execution/machine.h"

#include <map>
#include <string>

namespace ptxsim {

std::optional<SpecialRegister> find_special(std::string_view name) {
  static const std::map<std::string_view, SpecialRegister> registers = {
      {"%tid.x", {Special::TidX, 4}},
      {"%tid.y", {Special::TidY, 4}},
      {"%tid.z", {Special::TidZ, 4}},
      {"%ntid.x", {Special::NtidX, 4}},
      {"%ntid.y", {Special::NtidY, 4}},
      {"%ntid.z", {Special::NtidZ, 4}},
      {"%ctaid.x", {Special::CtaidX, 4}},
      {"%ctaid.y", {Special::CtaidY, 4}},
      {"%ctaid.z", {Special::CtaidZ, 4}},
      {"%nctaid.x", {Special::NctaidX, 4}},
      {"%nctaid.y", {Special::NctaidY, 4}},
      {"%nctaid.z", {Special::NctaidZ, 4}},
      {"%laneid", {Special::LaneId, 4}},
      {"%warpid", {Special::WarpId, 4}},
      {"%nwarpid", {Special::NwarpId, 4}},
      {"%smid", {Special::SmId, 4}},
      {"%nsmid", {Special::NsmId, 4}},
      {"%gridid", {Special::GridId, 8}},
      {"%lanemask_eq", {Special::LanemaskEq, 4}},
      {"%lanemask_le", {Special::LanemaskLe, 4}},
      {"%lanemask_lt", {Special::LanemaskLt, 4}},
      {"%lanemask_ge", {Special::LanemaskGe, 4}},
      {"%lanemask_gt", {Special::LanemaskGt, 4}},
      {"%clusterid.x", {Special::ClusteridX, 4}},
      {"%clusterid.y", {Special::ClusteridY, 4}},
      {"%clusterid.z", {Special::ClusteridZ, 4}},
      {"%nclusterid.x", {Special::NclusteridX, 4}},
      {"%nclusterid.y", {Special::NclusteridY, 4}},
      {"%nclusterid.z", {Special::NclusteridZ, 4}},
      {"%cluster_ctaid.x", {Special::ClusterCtaidX, 4}},
      {"%cluster_ctaid.y", {Special::ClusterCtaidY, 4}},
      {"%cluster_ctaid.z", {Special::ClusterCtaidZ, 4}},
      {"%cluster_nctaid.x", {Special::ClusterNctaidX, 4}},
      {"%cluster_nctaid.y", {Special::ClusterNctaidY, 4}},
      {"%cluster_nctaid.z", {Special::ClusterNctaidZ, 4}},
      {"%cluster_ctarank", {Special::ClusterCtarank, 4}},
      {"%cluster_nctarank", {Special::ClusterNctarank, 4}},
      {"%is_explicit_cluster", {Special::IsExplicitCluster, 0}},
      {"%dynamic_smem_size", {Special::DynamicSmemSize, 4}},
      {"%total_smem_size", {Special::TotalSmemSize, 4}},
      {"%aggr_smem_size", {Special::AggrSmemSize, 4}},
      {"%reserved_smem_offset_begin", {Special::ReservedSmemBegin, 4}},
      {"%reserved_smem_offset_end", {Special::ReservedSmemEnd, 4}},
      {"%reserved_smem_offset_cap", {Special::ReservedSmemCap, 4}},
      {"%reserved_smem_offset_0", {Special::ReservedSmemOffset0, 4}},
      {"%reserved_smem_offset_1", {Special::ReservedSmemOffset1, 4}},
      {"%clock", {Special::Clock, 4}},
      {"%clock_hi", {Special::ClockHi, 4}},
      {"%clock64", {Special::Clock64, 8}},
      {"%globaltimer", {Special::GlobalTimer, 8}},
      {"%globaltimer_lo", {Special::GlobalTimerLo, 4}},
      {"%globaltimer_hi", {Special::GlobalTimerHi, 4}},
  };
  auto found = registers.find(name);
  if (found != registers.end())
    return found->second;
  if (name.substr(0, 7) == "%envreg")
    return SpecialRegister{Special::Zero, 4};
  return std::nullopt;
}

uint64_t sm_count(const Program &program) { return program.target.rfind("sm_90", 0) == 0 ? 132 : 148; }

/// The component 0, 1 or 2 that a register selects; `x` is the register of component 0.
static size_t component(Special special, Special x) { return size_t(special) - size_t(x); }

uint64_t special_value(Special special, const Warp &warp, uint32_t lane) {
  const Machine &machine = warp.machine;
  const LaunchOptions &options = machine.options;
  const Cta &cta = warp.cta;
  uint32_t thread = warp.index * lane_count + lane;
  uint32_t bit = 1u << lane;
  switch (special) {
  case Special::TidX:
    return thread % options.block[0];
  case Special::TidY:
    return thread / options.block[0] % options.block[1];
  case Special::TidZ:
    return thread / options.block[0] / options.block[1];
  case Special::NtidX:
  case Special::NtidY:
  case Special::NtidZ:
    return options.block[component(special, Special::NtidX)];
  case Special::CtaidX:
  case Special::CtaidY:
  case Special::CtaidZ:
    return cta.index[component(special, Special::CtaidX)];
  case Special::NctaidX:
  case Special::NctaidY:
  case Special::NctaidZ:
    return options.grid[component(special, Special::NctaidX)];
  case Special::LaneId:
    return lane;
  case Special::WarpId:
    return warp.index;
  case Special::NwarpId:
    return cta.warps.capacity();
  case Special::LanemaskEq:
    return bit;
  case Special::LanemaskLt:
    return bit - 1;
  case Special::LanemaskLe:
    return bit | (bit - 1);
  case Special::LanemaskGe:
    return uint32_t(~(bit - 1));
  case Special::LanemaskGt:
    return uint32_t(~(bit | (bit - 1)));
  case Special::ClusteridX:
  case Special::ClusteridY:
  case Special::ClusteridZ:
    return warp.cluster.index[component(special, Special::ClusteridX)];
  case Special::NclusteridX:
  case Special::NclusteridY:
  case Special::NclusteridZ: {
    size_t i = component(special, Special::NclusteridX);
    return options.grid[i] / options.cluster[i];
  }
  case Special::ClusterCtaidX:
  case Special::ClusterCtaidY:
  case Special::ClusterCtaidZ: {
    size_t i = component(special, Special::ClusterCtaidX);
    return cta.index[i] % options.cluster[i];
  }
  case Special::ClusterNctaidX:
  case Special::ClusterNctaidY:
  case Special::ClusterNctaidZ:
    return options.cluster[component(special, Special::ClusterNctaidX)];
  case Special::ClusterCtarank:
    return cta.rank;
  case Special::ClusterNctarank:
    return volume(options.cluster);
  case Special::IsExplicitCluster:
    return volume(options.cluster) > 1 || volume(machine.entry.cluster) > 0;
  case Special::DynamicSmemSize:
    return options.dynamic_shared_bytes;
  case Special::TotalSmemSize:
  case Special::AggrSmemSize:
    return machine.shared_bytes();
  case Special::ReservedSmemEnd:
  case Special::ReservedSmemCap:
    return shared_base;
  case Special::NsmId:
    return sm_count(machine.program);
  case Special::SmId:
    return (cta.index[0] + options.grid[0] * (cta.index[1] + uint64_t(options.grid[1]) * cta.index[2])) %
           sm_count(machine.program);
  // Time is the number of warp instructions executed, so that runs with the same seed read the same clock.
  case Special::Clock:
  case Special::GlobalTimerLo:
    return uint32_t(machine.steps);
  case Special::ClockHi:
  case Special::GlobalTimerHi:
    return machine.steps >> 32;
  case Special::Clock64:
  case Special::GlobalTimer:
    return machine.steps;
  default:
    return 0;
  }
}

} // namespace ptxsim
