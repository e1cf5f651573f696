// Decode functions of tcgen05.cp and tcgen05.shift.
#pragma once

#include "program/decoder.h"

namespace ptxsim {

Execute decode_tensor_cp(Decoder &decoder);
Execute decode_tensor_shift(Decoder &decoder);

} // namespace ptxsim
