// The instructions of PTX that the simulator does not support.
#pragma once

#include <string_view>

namespace ptxsim {

/// True if `name`, the first word of a mnemonic, is an instruction of PTX ISA 9.3 without a row in the table.
bool is_unsupported_name(std::string_view name);

} // namespace ptxsim
