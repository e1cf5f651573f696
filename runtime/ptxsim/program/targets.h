// The targets on which instructions and their forms exist, as ptxas 13.0 accepts them. Targets before sm_80 are not
// distinguished from it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ptxsim {

/// The values of .target for which ptxas accepts an instruction. SmN is sm_N and later.
enum class Targets : uint8_t {
  All,
  Sm86,
  Sm89,
  Sm90,
  Sm100,
  Sm107,
  Wgmma,
  Tcgen05,
  TensorShift,
  IntegerMma,
  NarrowFloats,
  RegisterPool,
  FloatRedux,
  StochasticRounding,
  FixedPoint,
};

/// True if `target` is one of these.
bool has_target(Targets targets, std::string_view target);

/// The first of the targets, with "and later" if the later ones follow.
std::string_view describe(Targets targets);

/// What the modifiers and the number of operands of an instruction require, in addition to its row.
std::vector<Targets> targets_of_form(std::string_view canonical, size_t operands);

} // namespace ptxsim
