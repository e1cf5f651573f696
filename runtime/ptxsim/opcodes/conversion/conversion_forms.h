// The forms of cvt that exist (PTX ISA 9.7.9.21).
#pragma once

#include "program/targets.h"
#include "program/type.h"

#include <optional>
#include <string_view>

namespace ptxsim {

/// The modifiers of a cvt, and its types.
struct ConversionForm {
  Type to, from;
  std::string_view rounding; // "rn", "rzi", ...; empty if the form has none
  bool ftz = false, sat = false, relu = false, satfinite = false;
  bool scaled = false; // .scaled::n2::ue8m0
};

/// The targets on which a form exists, and the PTX version that introduced it: 91 is 9.1.
struct ConversionRequirement {
  Targets targets = Targets::All;
  uint32_t version = 0;
};

/// What the form needs; nullopt if PTX does not define it.
std::optional<ConversionRequirement> find_conversion(const ConversionForm &form);

} // namespace ptxsim
