// The operations of atom, red, red.async and redux on one value (PTX ISA 9.7.13.6).
#pragma once

#include "program/type.h"

namespace ptxsim {

enum class AtomicOperation : int32_t { And, Or, Xor, Exchange, CompareSwap, Add, Inc, Dec, Min, Max };

/// The value that replaces `old`, of up to 64 bits. Bits above the size of the type are to be ignored.
/// CompareSwap is not computed here.
uint64_t apply_atomic(AtomicOperation operation, Type type, uint64_t old, uint64_t operand);

/// The sum of f32 in global memory: subnormal operands and results become zeros of their sign (PTX ISA, atom and
/// cp.reduce.async.bulk).
float add_flushed(float a, float b);

} // namespace ptxsim
