#include "memory/mbarrier.h"

namespace ptxsim {

static std::string out_of_range(const char *quantity, int64_t least, int64_t found) {
  return std::string(quantity) + " must be between " + std::to_string(least) + " and " +
         std::to_string(Mbarrier::count_limit) + ", found " + std::to_string(found);
}

std::string Mbarrier::init(int64_t count) {
  if (count < 1 || count > count_limit)
    return out_of_range("the expected arrival count", 1, count);
  first_epoch += Epoch(phase) + 1;
  phase = 0;
  expected = pending = count;
  transactions = 0;
  observed = true;
  observed_phases = latest_copy = 0;
  init_fenced = false;
  gathering = complete = Knowledge();
  return {};
}

void Mbarrier::try_complete() {
  if (pending != 0 || transactions != 0)
    return;
  ++phase;
  pending = expected;
  observed = false;
  gathering.happened.raise(agent, epoch());
  gathering.tensor.raise(agent, epoch());
  complete = gathering;
}

std::string Mbarrier::expect_transactions(int64_t bytes) {
  transactions += bytes;
  return transactions > count_limit ? out_of_range("the transaction count", -count_limit, transactions) : std::string();
}

std::string Mbarrier::complete_transactions(int64_t bytes, uint64_t issued_in_phase) {
  if (issued_in_phase != phase)
    return "bytes of a copy issued in phase " + std::to_string(issued_in_phase) + " arrive in phase " +
           std::to_string(phase) + ", which did not expect them";
  transactions -= bytes;
  if (transactions < -count_limit)
    return out_of_range("the transaction count", -count_limit, transactions);
  if (pending == 0 && transactions < 0)
    return "more bytes arrive than the phase expects: " + std::to_string(-transactions) + " too many";
  try_complete();
  return {};
}

std::string Mbarrier::arrive(int64_t count) {
  if (count < 1)
    return out_of_range("the arrival count", 1, count);
  if (count > pending)
    return "arrival count " + std::to_string(count) + " exceeds the pending count " + std::to_string(pending) +
           " of the phase";
  pending -= count;
  if (pending == 0 && transactions < 0)
    return "all arrivals of the phase are complete, but " + std::to_string(-transactions) +
           " more bytes have arrived than it expects";
  try_complete();
  return {};
}

std::string Mbarrier::arrive_drop(int64_t count) {
  if (count > expected)
    return "arrive_drop count " + std::to_string(count) + " exceeds the expected arrival count " +
           std::to_string(expected);
  expected -= count;
  return arrive(count);
}

} // namespace ptxsim
