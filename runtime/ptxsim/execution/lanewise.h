// Instructions that compute each lane by one function of the sources.
#pragma once

#include "execution/warp.h"
#include "program/decoder.h"

#include <array>

namespace ptxsim {

/// The lanes of operands 1 to Sources, which must be defined.
template <class T, size_t Sources> std::array<const T *, Sources> required_sources(Warp &warp, const Instruction &in) {
  std::array<const T *, Sources> sources;
  for (size_t i = 0; i < Sources; ++i) {
    warp.require(in.operands[i + 1]);
    sources[i] = warp.lanes<T>(in.operands[i + 1]);
  }
  return sources;
}

/// d[lane] = Function(sources of the lane). D and S may differ in size; all sources have the type S.
template <class D, class S, size_t Sources, auto Function> Outcome lanewise(Warp &warp, const Instruction &in) {
  const auto source = required_sources<S, Sources>(warp, in);
  D *destination = warp.lanes<D>(in.operands[0]);
  S values[Sources];
  if (warp.mask == ~0u) {
    for (uint32_t lane = 0; lane < lane_count; ++lane) {
      for (size_t i = 0; i < Sources; ++i)
        values[i] = source[i][lane];
      destination[lane] = Function(values);
    }
  } else {
    for (uint32_t rest = warp.mask; rest; rest &= rest - 1) {
      uint32_t lane = uint32_t(__builtin_ctz(rest));
      for (size_t i = 0; i < Sources; ++i)
        values[i] = source[i][lane];
      destination[lane] = Function(values);
    }
  }
  warp.wrote(in.operands[0]);
  return Outcome::Next;
}

/// Calls `each(lane)` for the lanes that execute.
template <class Each> void for_each_lane(uint32_t mask, Each each) {
  for (; mask; mask &= mask - 1)
    each(uint32_t(__builtin_ctz(mask)));
}

/// Calls `select` with a value of the C++ type of a 16, 32 or 64-bit integer type; nullptr for any other.
template <class Select> Execute select_integer(Type type, Select select) {
  switch (type) {
  case Type::U16:
  case Type::B16:
    return select(uint16_t());
  case Type::U32:
  case Type::B32:
    return select(uint32_t());
  case Type::U64:
  case Type::B64:
    return select(uint64_t());
  case Type::S16:
    return select(int16_t());
  case Type::S32:
    return select(int32_t());
  case Type::S64:
    return select(int64_t());
  default:
    return nullptr;
  }
}

/// Operands d, s0, s1, ... all of one type.
inline void same_type_operands(Decoder &decoder, Type type, size_t sources) {
  decoder.expect_operands(sources + 1, sources + 1);
  decoder.destination(0, type);
  for (size_t i = 1; i <= sources; ++i)
    decoder.source(i, type);
}

} // namespace ptxsim
