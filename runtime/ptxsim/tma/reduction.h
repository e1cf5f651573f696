// The element-wise operations of cp.reduce.async.bulk and cp.reduce.async.bulk.tensor (PTX ISA 9.7.9.25, 9.7.9.27).
#pragma once

#include "program/type.h"
#include "tma/tensor_map/tensor_map.h"
#include "tma/transfer.h"

namespace ptxsim {

class Decoder;

enum class Reduction : uint8_t { Add, Min, Max, Inc, Dec, And, Or, Xor };

/// The reduction of elements of a PTX type, or null if PTX does not define it.
Combine find_reduction(Reduction operation, Type type);

/// The reduction of elements of a tensor, or null if PTX does not define it.
Combine find_tensor_reduction(Reduction operation, TensorElement element);

/// Takes the operation modifier of an instruction (.add, .min, ...). Throws PtxError if there is none.
Reduction take_reduction(Decoder &decoder);

} // namespace ptxsim
