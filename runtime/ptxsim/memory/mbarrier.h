// The mbarrier object: an exact state machine kept beside memory, since its bits are opaque (PTX ISA 9.7.13.15).
#pragma once

#include "memory/clocks.h"

#include <cstdint>
#include <string>

namespace ptxsim {

struct Mbarrier {
  static constexpr int64_t count_limit = (1 << 20) - 1;

  Agent agent = 0;    // epoch n: n phases completed
  uint64_t phase = 0; // phases completed since init
  int64_t expected = 0;
  int64_t pending = 0;
  int64_t transactions = 0;
  bool observed = true;          // a successful wait has observed the last completed phase
  uint64_t observed_phases = 0;  // completed phases that a successful wait has observed
  uint64_t latest_copy = 0;      // 1 + the phase that the newest copy signalled; 0: no copy
  uint32_t copy_instruction = 0; // the instruction of that copy, an index into Program::code
  Agent init_agent = 0;          // the agent that initialised it, and its epoch
  Epoch init_epoch = 0;
  uint32_t init_line = 0;
  bool init_fenced = false; // the initialisation is visible to the async proxy and the cluster
  Knowledge gathering;      // of the arrivals so far
  Knowledge complete;       // acquired by a successful wait
  Epoch first_epoch = 0;    // epoch of phase 0 (an address may be initialised more than once)
  uint32_t line = 0;        // of the instruction that last changed the object

  Epoch epoch() const { return first_epoch + Epoch(phase); }

  // Each returns an error message, or an empty string.
  std::string init(int64_t count);
  std::string expect_transactions(int64_t bytes);
  std::string complete_transactions(int64_t bytes, uint64_t issued_in_phase);
  std::string arrive(int64_t count);
  std::string arrive_drop(int64_t count);
  /// True if the phase of this parity, the current or the preceding one, has completed.
  bool test_parity(uint32_t parity) const { return (phase & 1) != parity; }

private:
  void try_complete();
};

} // namespace ptxsim
