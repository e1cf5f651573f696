// Numbers in messages.
#pragma once

#include <cstdint>
#include <string>

namespace ptxsim {

/// "0x" and the digits without leading zeros.
std::string hexadecimal(uint64_t value);

} // namespace ptxsim
