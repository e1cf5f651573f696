// Registers that matrix instructions read or write after their issue.
#pragma once

#include "execution/warp.h"

namespace ptxsim {

/// Marks a register that the operation at `position` uses until the instruction `until` has waited for it.
void mark_register_in_flight(Warp &warp, AsyncQueue &queue, Epoch position, const Operand &operand,
                             bool will_be_written, const char *until, bool is_complete = false);

/// Clears the marks of operations up to `through`, which have been waited for.
void clear_registers_in_flight(Warp &warp, AsyncQueue &queue, Epoch through);

} // namespace ptxsim
