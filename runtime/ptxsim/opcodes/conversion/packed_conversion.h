// cvt between packed types (PTX ISA 9.7.9.21).
#pragma once

#include "program/decoder.h"

namespace ptxsim {

/// The bits of an element of a packed type; 0 for other types.
uint32_t packed_bits(Type type);

/// A conversion to or from two elements.
Execute decode_packed(Decoder &d, bool stochastic);

/// A conversion to four elements.
Execute decode_four(Decoder &d);

} // namespace ptxsim
