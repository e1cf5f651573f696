// Mbarriers as instructions and asynchronous operations use them: with traps, clocks and wake-ups.
#pragma once

#include "machine.h"

namespace ptxsim {

/// complete_tx: `bytes` that were issued in `issued_in_phase` have arrived at the mbarrier of `cta`. Those of a
/// copy must be waited for before all threads exit.
void complete_transactions(const Origin &origin, Cta &cta, uint64_t offset, uint64_t bytes, uint64_t issued_in_phase,
                           bool copy = true);

/// expect_tx.
void expect_transactions(const Origin &origin, Cta &cta, uint64_t offset, int64_t bytes);

/// An arrive(count) that publishes `knowledge`, such as that of a tcgen05.commit or a cp.async group.
void signal_mbarrier(const Origin &origin, Cta &cta, uint64_t offset, int64_t count, const Knowledge &knowledge);

/// arrive_drop(count).
void drop_mbarrier(const Origin &origin, Cta &cta, uint64_t offset, int64_t count, const Knowledge &knowledge);

/// The mbarrier that an instruction names, for an operation of the async proxy or of another CTA: its
/// initialisation must have been fenced and be ordered before. Trap of the warp otherwise.
Mbarrier &mbarrier_for_async(Warp &warp, Cta &owner, uint64_t offset, uint32_t lane = 0);

} // namespace ptxsim
