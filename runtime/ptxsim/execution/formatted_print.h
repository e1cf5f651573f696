// Strings in memory, and vprintf of CUDA device code: the C format string and its packed arguments.
#pragma once

#include "execution/warp.h"

#include <string>

namespace ptxsim {

struct FormattedText {
  std::string text;
  int32_t arguments = 0; // number of arguments printed: the result of vprintf
};

/// The string of bytes before the NUL byte at a generic address; traps if it cannot be read.
std::string read_string(Warp &warp, uint32_t lane, uint64_t address);

/// The text of one lane. `format` and `arguments` are generic addresses; traps if they cannot be read.
FormattedText format_print(Warp &warp, uint32_t lane, uint64_t format, uint64_t arguments);

} // namespace ptxsim
