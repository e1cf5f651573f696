// Memory orderings of ld, st, atom, red and fence (PTX ISA 8).
#pragma once

#include "execution/machine.h"
#include "program/decoder.h"

namespace ptxsim {

enum class Ordering : int32_t { Weak, Volatile, Relaxed, Acquire, Release, AcquireRelease };

/// Takes .weak, .volatile, .relaxed, .acquire, .release, .acq_rel or .mmio, and the scope.
int32_t take_ordering(Decoder &decoder, Ordering default_ordering = Ordering::Weak);

bool is_strong(int32_t ordering);
/// True if the access may acquire, or release: strong accesses do so together with a fence.
bool is_acquire(int32_t ordering);
bool is_release(int32_t ordering);

/// A load acquires the knowledge that releases to this address have published.
void acquire_from(Warp &warp, Space space, uint64_t address, int32_t ordering);
/// A store publishes the knowledge of the warp at this address.
void release_to(Warp &warp, Space space, uint64_t address, int32_t ordering);

} // namespace ptxsim
