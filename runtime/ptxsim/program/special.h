// Special registers (PTX ISA 10).
#pragma once

#include "program/program.h"

#include <optional>

namespace ptxsim {

enum class Special : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NwarpId,
  SmId,
  NsmId,
  GridId,
  LanemaskEq,
  LanemaskLe,
  LanemaskLt,
  LanemaskGe,
  LanemaskGt,
  ClusteridX,
  ClusteridY,
  ClusteridZ,
  NclusteridX,
  NclusteridY,
  NclusteridZ,
  ClusterCtaidX,
  ClusterCtaidY,
  ClusterCtaidZ,
  ClusterNctaidX,
  ClusterNctaidY,
  ClusterNctaidZ,
  ClusterCtarank,
  ClusterNctarank,
  IsExplicitCluster,
  DynamicSmemSize,
  TotalSmemSize,
  AggrSmemSize,
  ReservedSmemBegin,
  ReservedSmemEnd,
  ReservedSmemCap,
  ReservedSmemOffset0,
  ReservedSmemOffset1,
  Zero,
  // These change while a warp runs; mov reads them at each execution.
  Clock,
  ClockHi,
  Clock64,
  GlobalTimer,
  GlobalTimerLo,
  GlobalTimerHi,
};

struct SpecialRegister {
  Special special;
  uint8_t size; // bytes; 0 for a predicate
  bool changes() const { return special >= Special::Clock; }
};

/// The special register of this name, such as "%tid.x".
std::optional<SpecialRegister> find_special(std::string_view name);

/// The number of SMs of an H100 for sm_90, else of a B200.
uint64_t sm_count(const Program &program);

/// Its value in one lane.
uint64_t special_value(Special special, const Warp &warp, uint32_t lane);

} // namespace ptxsim
