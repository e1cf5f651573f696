// A block-scaled product of e4m3 elements: 32 of them along k have an e8m0 factor.

#include "block_scaled.h"

using Element = cutlass::mx_float8_t<cutlass::float_e4m3_t>;

BLOCK_SCALED_GEMM(Element, Element, 16, cute::_128, cutlass::gemm::KernelTmaWarpSpecialized1SmMxf8f6f4Sm100)
