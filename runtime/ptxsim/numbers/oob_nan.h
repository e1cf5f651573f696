// The NaN that TMA fills elements outside of a tensor with, and that fma.oob replaces by zero (PTX ISA 5.5.3.3).
#pragma once

#include <cstdint>

namespace ptxsim {

/// Each two bytes of the fill: a NaN of every float type. NVIDIA does not publish it (FIDELITY.md).
inline constexpr uint16_t oob_nan = 0x7FF7;

} // namespace ptxsim
