// The reductions of multimem (PTX ISA 9.7.9.12). The simulator has one device behind a multicast address.
#pragma once

#include "opcodes/atomic_operation.h"
#include "program/decoder.h"
#include "program/type.h"

namespace ptxsim {

/// Reads the operation of multimem.ld_reduce or multimem.red; it is malformed without one.
AtomicOperation take_multimem_operation(Decoder &decoder);

/// Whether multimem accesses this number of elements at once: vectors have floats, at least 4 and at most 16 bytes. An
/// address without a state space is generic.
bool is_multimem_access(Type type, uint32_t elements, Space space);

/// Whether multimem.ld_reduce (`loads`) or multimem.red has the operation for a type.
bool has_multimem_reduction(AtomicOperation operation, Type type, bool loads);

} // namespace ptxsim
