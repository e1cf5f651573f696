#include "numbers/hexadecimal.h"

#include <cinttypes>
#include <cstdio>

namespace ptxsim {

std::string hexadecimal(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%" PRIx64, value);
  return text;
}

} // namespace ptxsim
