// What the driver refuses to launch.
#pragma once

#include "machine.h"

namespace ptxsim {

/// Throws PtxError unless the driver would launch this grid.
void check_launch(const Program &program, const Function &entry, const LaunchOptions &options);

/// Where dynamic shared memory begins: after the static part, at the alignment of the .extern variables.
uint64_t dynamic_shared_begin(const Program &program, const Function &entry);

} // namespace ptxsim
