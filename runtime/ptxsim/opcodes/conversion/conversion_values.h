// Values of floating-point types in conversions.
#pragma once

#include "numbers/small_float.h"
#include "program/opcode.h"

namespace ptxsim {

/// The settings of an instruction cvt.
enum ConversionSetting { Rounded, ToInteger, Ftz, Sat, Relu, SatFinite, Scaled };

/// The format of a type of at most 32 bits, or of the elements of a packed type; that of tf32 for other types.
const SmallFloat &format_of(Type type);

double float_value(Type type, uint64_t bits, bool ftz);

/// The bits of a number, rounded and limited as the instruction demands.
uint64_t float_bits(Type type, double value, const Instruction &in);

} // namespace ptxsim
