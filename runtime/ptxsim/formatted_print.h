// vprintf of CUDA device code: the C format string and its packed arguments.
#pragma once

#include "warp.h"

#include <string>

namespace ptxsim {

struct Formatted {
  std::string text;
  int32_t arguments = 0; // conversions that took one: the result of vprintf
};

/// The text of one lane. `format` and `arguments` are generic addresses; Trap of the warp where they cannot be read.
Formatted format_print(Warp &warp, uint32_t lane, uint64_t format, uint64_t arguments);

} // namespace ptxsim
