// Registers that matrix instructions read or write after they were issued.
#pragma once

#include "warp.h"

namespace ptxsim {

/// The operation at `position` uses the register until the instruction named `until` waits for it.
void begin_register_flight(Warp &warp, AsyncQueue &queue, Epoch position, const Operand &operand, bool will_be_written,
                           const char *until);

/// Operations up to `through` have been waited for.
void end_register_flights(Warp &warp, AsyncQueue &queue, Epoch through);

} // namespace ptxsim
