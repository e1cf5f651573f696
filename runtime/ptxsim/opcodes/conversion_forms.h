// The forms of cvt that exist (PTX ISA 9.7.9.21).
#pragma once

#include "type.h"

#include <string_view>

namespace ptxsim {

/// The modifiers of a cvt, and its types.
struct ConversionForm {
  Type to, from;
  std::string_view rounding; // "rn", "rzi", ...; empty if the form has none
  bool ftz = false, sat = false, relu = false, satfinite = false;
};

/// True if PTX defines the form.
bool conversion_exists(const ConversionForm &form);

} // namespace ptxsim
