// The limits of a launch.
#pragma once

#include "execution/machine.h"

namespace ptxsim {

/// The product of three extents.
uint64_t volume(const std::array<uint32_t, 3> &extents);

/// Throws PtxError if the driver would refuse the launch.
void check_launch(const Program &program, const Function &entry, const LaunchOptions &options);

/// The number of clusters that the SMs of the device hold at the same time, at least 1.
uint64_t resident_clusters(const Program &program, const Function &entry, const LaunchOptions &options);

/// The offset of dynamic shared memory: after static shared memory, at the alignment of the .extern variables.
uint64_t dynamic_shared_begin(const Program &program, const Function &entry);

} // namespace ptxsim
