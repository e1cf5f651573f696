// Mbarriers as instructions and asynchronous operations use them: with traps, clocks and wake-ups.
#pragma once

#include "machine.h"

namespace ptxsim {

/// complete_tx: `bytes` of a copy that was issued in `issued_in_phase` have arrived at the mbarrier of `cta`.
void complete_transactions(const Origin &origin, Cta &cta, uint64_t offset, uint64_t bytes, uint64_t issued_in_phase);

/// An arrive(count) that publishes `knowledge`, such as that of a tcgen05.commit or a cp.async group.
void signal_mbarrier(const Origin &origin, Cta &cta, uint64_t offset, int64_t count, const Knowledge &knowledge);

} // namespace ptxsim
