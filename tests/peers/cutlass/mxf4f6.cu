// A block-scaled product of e2m1 elements of a and e3m2 elements of b, packed in global memory and padded in shared
// memory: 32 of them along k have an e8m0 factor.

#include "block_scaled.h"

using ElementA = cutlass::mx_float4_t<cutlass::float_e2m1_t>;
using ElementB = cutlass::mx_float6_t<cutlass::float_e3m2_t>;

BLOCK_SCALED_GEMM(ElementA, ElementB, 128, cute::_128, cutlass::gemm::KernelTmaWarpSpecialized1SmMxf8f6f4Sm100)
