// A block-scaled product of e2m1 elements, two per byte: 16 of them along k have a ue4m3 factor.

#include "block_scaled.h"

using Element = cutlass::nv_float4_t<cutlass::float_e2m1_t>;

BLOCK_SCALED_GEMM(Element, Element, 32, cute::_256, cutlass::gemm::KernelTmaWarpSpecialized1SmNvf4Sm100)
