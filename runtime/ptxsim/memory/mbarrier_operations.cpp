#include "memory/mbarrier_operations.h"

namespace ptxsim {

static Mbarrier &mbarrier_at(const Origin &origin, Cta &cta, uint64_t offset) {
  auto found = cta.mbarriers.find(uint32_t(offset));
  if (found == cta.mbarriers.end())
    cta.machine.trap(origin, trap_kind::mbarrier,
                     "the operation signals an mbarrier at shared offset " + std::to_string(offset) + " of CTA rank " +
                         std::to_string(cta.rank) + ", but none is initialised there");
  return found->second;
}

static void trap_if_error(const Origin &origin, Cta &cta, const std::string &wrong, uint32_t last_line) {
  if (!wrong.empty() && cta.machine.options.checks)
    cta.machine.trap(origin, trap_kind::mbarrier, wrong,
                     {"the mbarrier was last changed by line " + std::to_string(last_line)});
}

static void changed(const Origin &origin, Cta &cta, Mbarrier &mbarrier, uint64_t phase_before) {
  mbarrier.line = origin.instruction->line;
  cta.machine.changed_mbarrier();
  if (mbarrier.phase != phase_before)
    ++cta.cluster.progress;
}

void complete_transactions(const Origin &origin, Cta &cta, uint64_t offset, uint64_t bytes, uint64_t issued_in_phase,
                           bool copy) {
  Mbarrier &mbarrier = mbarrier_at(origin, cta, offset);
  uint64_t phase = mbarrier.phase;
  if (copy) {
    mbarrier.latest_copy = issued_in_phase + 1;
    mbarrier.copy_instruction = uint32_t(origin.instruction - cta.machine.program.code.data());
  }
  trap_if_error(origin, cta, mbarrier.complete_transactions(int64_t(bytes), issued_in_phase), mbarrier.line);
  changed(origin, cta, mbarrier, phase);
}

/// A successful wait must observe each phase before the first arrival of the next one (PTX ISA 9.7.13.15.4).
static void check_observed(const Origin &origin, Cta &cta, const Mbarrier &mbarrier) {
  if (!mbarrier.observed && mbarrier.pending == mbarrier.expected && cta.machine.options.checks)
    cta.machine.trap(origin, trap_kind::mbarrier,
                     "arrival in phase " + std::to_string(mbarrier.phase) +
                         ", but no wait has observed the completion of phase " + std::to_string(mbarrier.phase - 1),
                     {"the mbarrier was last changed by line " + std::to_string(mbarrier.line)});
}

/// An arrival that publishes `knowledge`: Mbarrier::arrive or arrive_drop.
static void arrive(const Origin &origin, Cta &cta, uint64_t offset, int64_t count, const Knowledge &knowledge,
                   std::string (Mbarrier::*arrival)(int64_t)) {
  Mbarrier &mbarrier = mbarrier_at(origin, cta, offset);
  check_observed(origin, cta, mbarrier);
  uint64_t phase = mbarrier.phase;
  mbarrier.gathering.join(knowledge);
  trap_if_error(origin, cta, (mbarrier.*arrival)(count), mbarrier.line);
  changed(origin, cta, mbarrier, phase);
}

void signal_mbarrier(const Origin &origin, Cta &cta, uint64_t offset, int64_t count, const Knowledge &knowledge) {
  arrive(origin, cta, offset, count, knowledge, &Mbarrier::arrive);
}

void drop_mbarrier(const Origin &origin, Cta &cta, uint64_t offset, int64_t count, const Knowledge &knowledge) {
  arrive(origin, cta, offset, count, knowledge, &Mbarrier::arrive_drop);
}

void expect_transactions(const Origin &origin, Cta &cta, uint64_t offset, int64_t bytes) {
  Mbarrier &mbarrier = mbarrier_at(origin, cta, offset);
  trap_if_error(origin, cta, mbarrier.expect_transactions(bytes), mbarrier.line);
  changed(origin, cta, mbarrier, mbarrier.phase);
}

Mbarrier &mbarrier_for_async(Warp &warp, Cta &owner, uint64_t offset, uint32_t lane) {
  Mbarrier &mbarrier = owner.mbarrier(warp, offset, lane);
  if (!warp.machine.options.checks)
    return mbarrier;
  std::string line = "initialised by line " + std::to_string(mbarrier.init_line);
  if (mbarrier.init_epoch > warp.clock.known.happened[mbarrier.init_agent])
    warp.trap_lane(lane, trap_kind::race, "the initialisation of the mbarrier is not known to be complete", {line});
  // Kernels of other compilers synchronise here with a barrier only.
  if (!mbarrier.init_fenced && !warp.machine.options.allow_unconfirmed)
    warp.trap_lane(lane, trap_kind::race,
                   "the mbarrier is used outside the generic proxy of its CTA, but neither fence.mbarrier_init nor "
                   "fence.proxy.async follows its initialisation",
                   {line});
  return mbarrier;
}

} // namespace ptxsim
