// Operations of instructions and asynchronous operations on mbarriers, with their traps and clocks.
#pragma once

#include "execution/machine.h"

namespace ptxsim {

/// complete_tx: `bytes` of an operation that was issued in `issued_in_phase` have arrived. If it is a `copy`, the
/// threads must wait for them before all of them exit.
void complete_transactions(const Origin &origin, Cta &cta, uint64_t offset, uint64_t bytes, uint64_t issued_in_phase,
                           bool copy = true);

/// expect_tx.
void expect_transactions(const Origin &origin, Cta &cta, uint64_t offset, int64_t bytes);

/// An arrive(count) that publishes `knowledge`, such as that of a tcgen05.commit or a cp.async group.
void signal_mbarrier(const Origin &origin, Cta &cta, uint64_t offset, int64_t count, const Knowledge &knowledge);

/// arrive_drop(count).
void drop_mbarrier(const Origin &origin, Cta &cta, uint64_t offset, int64_t count, const Knowledge &knowledge);

/// The mbarrier for an operation of the async proxy or of another CTA. Traps unless its initialisation is fenced and
/// ordered before the instruction of the warp.
Mbarrier &mbarrier_for_async(Warp &warp, Cta &owner, uint64_t offset, uint32_t lane = 0);

} // namespace ptxsim
