// Floating point forms of mnemonics that integers have too; the type has been taken.
#pragma once

#include "program/decoder.h"

namespace ptxsim {

Execute decode_float_add(Decoder &decoder);
Execute decode_float_sub(Decoder &decoder);
Execute decode_float_mul(Decoder &decoder);
Execute decode_float_fma(Decoder &decoder);
Execute decode_float_mad(Decoder &decoder);
Execute decode_float_div(Decoder &decoder);
Execute decode_float_min(Decoder &decoder);
Execute decode_float_max(Decoder &decoder);
Execute decode_float_abs(Decoder &decoder);
Execute decode_float_neg(Decoder &decoder);

} // namespace ptxsim
