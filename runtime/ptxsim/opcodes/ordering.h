// Memory orderings of ld, st, atom, red and fence (PTX ISA 8).
#pragma once

#include "decoder.h"
#include "machine.h"

namespace ptxsim {

enum class Ordering : int32_t { Weak, Volatile, Relaxed, Acquire, Release, AcquireRelease };

/// Takes .weak, .volatile, .relaxed, .acquire, .release, .acq_rel, .mmio and the scope.
int32_t take_ordering(Decoder &decoder, Ordering otherwise = Ordering::Weak);

bool is_strong(int32_t ordering);
/// Whether the access may be one side of a synchronisation: strong accesses pair with fences.
bool is_acquire(int32_t ordering);
bool is_release(int32_t ordering);

/// What the warp learns by reading, and publishes by writing, a synchronising variable at this address.
void acquire_from(Warp &warp, Space space, uint64_t address, int32_t ordering);
void release_to(Warp &warp, Space space, uint64_t address, int32_t ordering);

} // namespace ptxsim
