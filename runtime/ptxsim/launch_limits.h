// Launches that the driver refuses.
#pragma once

#include "machine.h"

namespace ptxsim {

/// Throws PtxError unless the driver would launch this grid.
void check_launch(const Program &program, const Function &entry, const LaunchOptions &options);

/// The offset of dynamic shared memory: after the static part, at the alignment of the .extern variables.
uint64_t dynamic_shared_begin(const Program &program, const Function &entry);

} // namespace ptxsim
