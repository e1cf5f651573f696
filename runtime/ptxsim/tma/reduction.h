// Element-wise combinations of the bulk reductions (PTX ISA, cp.reduce.async.bulk and its tensor form).
#pragma once

#include "tma/tensor_map.h"
#include "tma/transfer.h"
#include "type.h"

namespace ptxsim {

enum class Reduction : uint8_t { Add, Min, Max, Inc, Dec, And, Or, Xor };

/// The combination for elements of a PTX type, or null where PTX has none.
Combine find_reduction(Reduction operation, Type type);

/// The PTX type that a tensor map's element is reduced as; B8 for elements that have no reduction.
Type reduction_type(TensorElement element);

/// Takes the name of the operation from the modifiers of an instruction ("add", "min", ...).
class Decoder;
Reduction take_reduction(Decoder &decoder);

} // namespace ptxsim
