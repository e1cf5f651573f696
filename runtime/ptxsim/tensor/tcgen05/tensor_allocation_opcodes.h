// Decode functions of tensor-memory allocation.
#pragma once

#include "program/decoder.h"

namespace ptxsim {

Execute decode_tensor_alloc(Decoder &decoder);
Execute decode_tensor_dealloc(Decoder &decoder);
Execute decode_tensor_relinquish(Decoder &decoder);

} // namespace ptxsim
