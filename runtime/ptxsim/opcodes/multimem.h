// The reductions of multimem (PTX ISA 9.7.9.12). The simulator has one device behind a multicast address.
#pragma once

#include "decoder.h"
#include "opcodes/atomic_operation.h"
#include "type.h"

namespace ptxsim {

/// Reads the operation of multimem.ld_reduce or multimem.red; it is malformed without one.
AtomicOperation take_multimem_operation(Decoder &decoder);

/// Whether the type is a float that multimem accesses in vectors.
bool is_multimem_float(Type type);

/// Whether multimem.ld_reduce (`loads`) or multimem.red has the operation for a type.
bool has_multimem_reduction(AtomicOperation operation, Type type, bool loads);

} // namespace ptxsim
